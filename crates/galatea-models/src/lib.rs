//! galatea-models
