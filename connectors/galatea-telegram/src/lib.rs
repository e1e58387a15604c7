//! galatea-telegram
