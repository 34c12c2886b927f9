"""The one error a person sees from the sandbox."""


class SandboxError(RuntimeError):
    """What happened, why, and what to do next, in plain words (`str()` is the whole text)."""

    def __init__(self, what: str, why: str, next_step: str) -> None:
        super().__init__(f"{what} {why} {next_step}")
        self.what = what
        self.why = why
        self.next_step = next_step
