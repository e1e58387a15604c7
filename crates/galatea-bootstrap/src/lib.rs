//! galatea-bootstrap
