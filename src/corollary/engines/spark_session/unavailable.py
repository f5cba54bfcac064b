"""Errors that are raised before Spark runs anything."""


class SparkUnavailableError(RuntimeError):
    """Spark cannot start on this machine: `message` says why, `hint` what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\nhint: {hint}")
        self.message = message
        self.hint = hint
