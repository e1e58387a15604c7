//! galatea-http
