//! Files of elizaOS and of other clients, and their faults.

use super::*;
use galatea_core::ExposeSecret;
use serde_json::json;

fn of(value: &Value) -> Read {
    let lookup = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
    read(value, "mcp.json: ", Path::new("/srv"), &lookup)
}

#[test]
fn elizaos_and_the_common_file_are_read_as_they_are() {
    let eliza = json!({ "servers": {
        "github": { "type": "stdio", "name": "GitHub", "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-github"],
            "env": { "GITHUB_TOKEN": "${TOKEN}" }, "cwd": "here", "timeoutInMillis": 5000 },
        "old": { "type": "sse", "url": "https://mcp.test/sse" },
    }, "maxRetries": 2 });
    let Read { servers, faults } = of(&eliza);
    assert_eq!(servers.len(), 2, "{faults:?}");
    assert_eq!(servers[0].timeout, Duration::from_secs(5));
    let Transport::Stdio { env, cwd, .. } = &servers[0].transport else { panic!() };
    assert_eq!(env["GITHUB_TOKEN"].expose_secret(), "s3cret");
    assert_eq!(cwd.as_deref(), Some(Path::new("/srv/here")));
    assert_eq!(servers[0].shown(), "npx -y @modelcontextprotocol/server-github");
    assert!(!format!("{servers:?}").contains("s3cret"));
    assert_eq!(faults.len(), 1);
    assert!(faults[0].mild && faults[0].place == "mcp.json: servers.old.type", "{faults:?}");

    let common = json!({ "mcpServers": {
        "time": { "command": "uvx", "args": ["mcp-server-time"], "timeout": 60 },
        "remote": { "url": "https://mcp.test/mcp", "headers": { "Authorization": "Bearer ${TOKEN}" } },
        "off": { "command": "x", "args": ["${MISSING}"], "disabled": true },
        "here": { "type": "http", "url": "http://127.0.0.1:9/mcp", "allowLoopback": true },
    } });
    let Read { servers, faults } = of(&common);
    assert_eq!(faults, []);
    assert_eq!(servers.iter().filter(|server| server.disabled).count(), 1);
    let Transport::Http { headers, .. } = &servers[1].transport else { panic!() };
    assert_eq!(headers["Authorization"].expose_secret(), "Bearer s3cret");
    assert_eq!(servers[0].timeout, Duration::from_secs(60));
}

#[test]
fn each_fault_has_its_place_and_a_fix() {
    let faulty = json!({ "mcpServers": {
        "a b": { "command": "x" },
        "none": {},
        "args": { "command": "x", "args": ["a", {}] },
        "unset": { "command": "x", "env": { "KEY": "${MISSING}" } },
        "plain": { "url": "http://mcp.test/mcp" },
        "inside": { "url": "https://localhost/mcp" },
        "user": { "url": "https://u:p@mcp.test/mcp" },
        "kind": { "type": "carrier-pigeon", "command": "x" },
        "time": { "command": "x", "timeout": "soon" },
        "good": { "command": "x" },
    } });
    let Read { servers, faults } = of(&faulty);
    assert_eq!(servers.len(), 1);
    let places: Vec<&str> = faults.iter().map(|fault| fault.place.as_str()).collect();
    assert_eq!(
        places,
        [
            "mcp.json: mcpServers.a b",
            "mcp.json: mcpServers.none.url",
            "mcp.json: mcpServers.args.args[1]",
            "mcp.json: mcpServers.unset.env.KEY",
            "mcp.json: mcpServers.plain.url",
            "mcp.json: mcpServers.inside.url",
            "mcp.json: mcpServers.user.url",
            "mcp.json: mcpServers.kind.type",
            "mcp.json: mcpServers.time.timeout",
        ]
    );
    assert!(
        faults.iter().all(|fault| !fault.fix.is_empty() && !fault.to_string().contains("u:p@"))
    );
    let broken = read_file("{ \"mcpServers\": {\n  x", "mcp.json", Path::new("."), &|_| None);
    assert!(broken.faults[0].place.starts_with("mcp.json:2:"), "{broken:?}");
    assert_eq!(of(&json!({ "mcpServers": [] })).faults.len(), 1);
    assert_eq!(of(&json!([])).faults.len(), 1);
}

#[test]
fn another_command_is_another_server_and_a_renewed_key_is_not() {
    let one = |args: &[&str], key: &str| {
        let value =
            json!({ "mcpServers": { "a": { "command": "x", "args": args, "env": { "K": key } } } });
        of(&value).servers[0].identity()
    };
    assert_eq!(one(&["a", "b"], "1"), one(&["a", "b"], "2"));
    assert_ne!(one(&["a", "b"], "1"), one(&["ab"], "1"));
}
