"""The same few examples in every run; many new ones with `pytest --hypothesis-profile thorough`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile(
    "dualgap", max_examples=12, deadline=None, derandomize=True, print_blob=True, suppress_health_check=QUIET
)
settings.register_profile(
    "thorough", max_examples=400, deadline=None, print_blob=True, suppress_health_check=QUIET
)
settings.load_profile("dualgap")
