"""All errors that callers may want to tell apart. Each carries a stable code; see docs/errors.md."""


class StockroomError(Exception):
    """Base class. ``code`` is stable and may be shown to customers; the message may change."""

    code = "GEN-500"

    def __init__(self, message, **details):
        super().__init__(message)
        self.details = details

    def __str__(self):
        text = super().__str__()
        return f"{self.code}: {text}"


class SkuError(StockroomError):
    code = "SKU-400"


class UnknownSku(StockroomError):
    code = "CAT-404"


class ImportProblem(StockroomError):
    code = "CSV-400"


class OutOfStock(StockroomError):
    code = "STK-409"


class HoldGone(StockroomError):
    code = "STK-410"


class CouponError(StockroomError):
    code = "PRC-422"


class TooHeavy(StockroomError):
    code = "SHP-413"


class BadTransition(StockroomError):
    code = "ORD-409"


class PaymentDeclined(StockroomError):
    code = "PAY-402"


class RefundError(StockroomError):
    code = "REF-422"


class JournalDamaged(StockroomError):
    code = "JRN-500"


class ConfigError(StockroomError):
    code = "CFG-500"
