//! galatea-runtime
