"""Provisioning: databases, graphs and seed data; what an order looks like on day zero."""
