//! galatea-testkit
