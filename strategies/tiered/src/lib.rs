//! The tiered residual scheme of MXF.
