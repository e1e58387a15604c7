//! Wren: the tutorial's second worked example, a platform of lines over a socket, without message
//! ids, cursor or history. Here it is run against a loopback server; `docs/add-a-connector.md`
//! shows its parts.

mod connector;
mod decode;
mod encode;
mod proofs;
mod receive;
mod send;
mod server;

/// The platform's name in addresses, rooms and settings.
const SOURCE: galatea_core::Source = galatea_core::Source::new("wren");

#[test]
fn the_tutorial_shows_what_is_here() {
    let files = [
        include_str!("connector.rs"),
        include_str!("decode.rs"),
        include_str!("encode.rs"),
        include_str!("receive.rs"),
        include_str!("send.rs"),
    ];
    let tutorial = include_str!("../../../../docs/add-a-connector.md");
    let excerpts: Vec<_> = tutorial
        .split("```rust,ignore\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(excerpts.len() >= 6, "{}", excerpts.len());
    for excerpt in excerpts {
        assert!(
            files.iter().any(|text| text.contains(excerpt)),
            "no file of the example holds:\n{excerpt}"
        );
    }
}
