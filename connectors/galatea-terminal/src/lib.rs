//! galatea-terminal
