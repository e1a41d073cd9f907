"""What a client can be told beside its gateway and its user, and what it does unless it is told otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    request_timeout_seconds: float
    lookup_timeout_seconds: float
    outcome_timeout_seconds: float
    first_pause_seconds: float
    longest_pause_seconds: float
    searchable_seconds: float
    merchant_id: int | None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.endswith("_seconds") and not value > 0:
                raise ValueError(f"{name} must be a number of seconds")
