//! tunacode's placeholder mode.
