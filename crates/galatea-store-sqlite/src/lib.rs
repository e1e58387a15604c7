//! galatea-store-sqlite
