//! galatea-tests
