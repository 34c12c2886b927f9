"""BigQuery's dotted names: project, dataset and object, with what is left out filled in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Name:
    """A table or graph, fully spelled."""

    project: str
    dataset: str
    object: str

    @property
    def schema(self) -> str:
        """The DuckDB schema in which bqemulator keeps this dataset."""
        return f"{self.project}__{self.dataset}"


@dataclass(frozen=True)
class NameScope:
    """Where a statement's incomplete names point: its project and, if any, its default dataset."""

    project: str
    dataset: str | None = None

    def complete(self, dotted: str) -> Name | None:
        """The full name of `[[project.]dataset.]object`; None when no dataset is known."""
        parts = dotted.replace("`", "").split(".")
        if len(parts) == 1 and self.dataset:
            return Name(self.project, self.dataset, parts[0])
        if len(parts) == 2:
            return Name(self.project, *parts)
        if len(parts) == 3:
            return Name(*parts)
        return None
