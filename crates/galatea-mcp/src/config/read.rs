//! Reads servers from JSON: `settings.mcp` of a character, and `mcpServers` files.

use galatea_core::SecretString;
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};
use url::{Host, Url};

use super::{
    CALL, Fault, Filled, LONGEST_CALL, LONGEST_NAME, ServerConfig, Transport,
    variables::{Lookup, fill},
};

/// Most servers of one agent.
const MOST: usize = 32;
/// Most arguments, variables or headers of a server.
const MOST_WORDS: usize = 128;

/// What was read.
#[derive(Debug, Default)]
pub struct Read {
    /// The servers without a serious fault, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// The faults of all entries.
    pub faults: Vec<Fault>,
}

/// Reads an `mcpServers` file. `folder` is where relative paths begin, and `lookup` finds variables.
pub fn read_file(
    text: &str,
    file: &str,
    folder: &Path,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Read {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => read(&value, &format!("{file}: "), folder, lookup),
        Err(error) => {
            let fault = Fault {
                place: format!("{file}:{}:{}", error.line(), error.column()),
                what: format!("the file is not valid JSON: {error}"),
                fix: "correct this place".to_owned(),
                mild: false,
            };
            Read { servers: Vec::new(), faults: vec![fault] }
        }
    }
}

/// Reads the servers of a value: `mcpServers` (the common file) or `servers` (elizaOS, VS Code).
/// `origin` stands in front of each place. Unknown keys are left alone.
pub fn read(
    value: &Value,
    origin: &str,
    folder: &Path,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Read {
    let mut reader = Reader { read: Read::default(), folder, lookup };
    let listed =
        ["mcpServers", "servers"].iter().find_map(|key| value.get(*key).map(|found| (*key, found)));
    match listed {
        Some((key, Value::Object(servers))) => {
            for (n, (name, entry)) in servers.iter().enumerate() {
                let place = format!("{origin}{key}.{name}");
                if n >= MOST {
                    reader.fault(
                        &place,
                        format!("there are more than {MOST} servers"),
                        "remove some",
                    );
                    break;
                }
                reader.server(name, entry, &place);
            }
        }
        Some((key, _)) => reader.fault(
            &format!("{origin}{key}"),
            "is not an object of servers by name",
            "write { \"name\": { \"command\": … } }",
        ),
        None => reader.fault(
            origin.trim_end_matches([':', ' ', '.']),
            "has no servers",
            "write them under \"mcpServers\"",
        ),
    }
    reader.read
}

struct Reader<'a> {
    read: Read,
    folder: &'a Path,
    lookup: Lookup<'a>,
}

impl Reader<'_> {
    fn fault(&mut self, place: &str, what: impl Into<String>, fix: impl Into<String>) {
        self.add(place, what.into(), fix.into(), false);
    }

    fn remark(&mut self, place: &str, what: impl Into<String>, fix: impl Into<String>) {
        self.add(place, what.into(), fix.into(), true);
    }

    fn add(&mut self, place: &str, what: String, fix: String, mild: bool) {
        self.read.faults.push(Fault { place: place.to_owned(), what, fix, mild });
    }

    fn server(&mut self, name: &str, entry: &Value, place: &str) {
        let Value::Object(fields) = entry else {
            return self.fault(
                place,
                "is not an object",
                "write { \"command\": … } or { \"url\": … }",
            );
        };
        if !is_name(name) {
            let what = format!(
                "the name of a server has letters, digits, `_` and `-`, and at most {LONGEST_NAME} characters"
            );
            return self.fault(place, what, "give it another name");
        }
        let clash = |known: &ServerConfig| known.name.eq_ignore_ascii_case(name);
        if self.read.servers.iter().any(clash) {
            return self.fault(
                place,
                "there is a server of this name already",
                "rename one of them",
            );
        }
        // A disabled server needs no variables.
        let disabled = fields.get("disabled") == Some(&Value::Bool(true))
            || fields.get("enabled") == Some(&Value::Bool(false));
        let before = self.read.faults.iter().filter(|fault| !fault.mild).count();
        let transport = self.transport(fields, place, disabled);
        let config = transport.map(|transport| ServerConfig {
            name: name.to_owned(),
            transport,
            timeout: self.timeout(fields, place),
            disabled,
            origin: place.to_owned(),
            folder: self.folder.to_path_buf(),
            loopback: fields.get("allowLoopback") == Some(&Value::Bool(true)),
            readable: self.folders(fields, "read", place),
            writable: self.folders(fields, "write", place),
            confined: fields.get("confine") != Some(&Value::Bool(false)),
        });
        let Some(config) = config else { return };
        self.check_address(&config, place);
        if self.read.faults.iter().filter(|fault| !fault.mild).count() == before {
            self.read.servers.push(config);
        }
    }

    fn transport(
        &mut self,
        fields: &Map<String, Value>,
        place: &str,
        disabled: bool,
    ) -> Option<Transport> {
        let kind = fields.get("type").or_else(|| fields.get("transport")).and_then(Value::as_str);
        let is_stdio = match kind {
            Some("stdio") => true,
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => false,
            Some("sse") => {
                self.remark(
                    &format!("{place}.type"),
                    "the transport \"sse\" was removed from the protocol; the address is called as streamable HTTP",
                    "write \"http\", and the server's address for it, which often ends with /mcp",
                );
                false
            }
            Some(other) => {
                let what = format!("there is no transport {:?}", short(other));
                self.fault(&format!("{place}.type"), what, "write \"stdio\" or \"http\"");
                return None;
            }
            None => fields.contains_key("command"),
        };
        if is_stdio {
            self.stdio(fields, place, disabled)
        } else {
            self.http(fields, place, disabled)
        }
    }

    fn stdio(
        &mut self,
        fields: &Map<String, Value>,
        place: &str,
        disabled: bool,
    ) -> Option<Transport> {
        let Some(command) = fields.get("command").and_then(Value::as_str).filter(|c| !c.is_empty())
        else {
            self.fault(
                &format!("{place}.command"),
                "is missing",
                "name the program that runs the server, or give \"url\"",
            );
            return None;
        };
        let command = self.filled(command, &format!("{place}.command"), disabled);
        let mut args = Vec::new();
        match fields.get("args") {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) if list.len() <= MOST_WORDS => {
                for (n, arg) in list.iter().enumerate() {
                    let at = format!("{place}.args[{n}]");
                    match scalar(arg) {
                        Some(text) => args.push(self.filled(&text, &at, disabled)),
                        None => self.fault(&at, "is not a text", "write it in quotes"),
                    }
                }
            }
            Some(_) => self.fault(
                &format!("{place}.args"),
                format!("is not a list of at most {MOST_WORDS} texts"),
                "write [\"one\", \"two\"]",
            ),
        }
        let cwd = match fields.get("cwd") {
            Some(Value::String(path)) => {
                let filled = self.value(path, &format!("{place}.cwd"), disabled);
                Some(self.path(&filled))
            }
            Some(Value::Null) | None => None,
            Some(_) => {
                self.fault(&format!("{place}.cwd"), "is not a text", "write the path of a folder");
                None
            }
        };
        let env = self.named(fields, "env", place, disabled);
        Some(Transport::Stdio { command, args, env, cwd })
    }

    fn http(
        &mut self,
        fields: &Map<String, Value>,
        place: &str,
        disabled: bool,
    ) -> Option<Transport> {
        let at = format!("{place}.url");
        let written = fields.get("url").or_else(|| fields.get("serverUrl")).and_then(Value::as_str);
        let Some(written) = written else {
            self.fault(&at, "is missing", "give the server's address, or \"command\"");
            return None;
        };
        let value = self.value(written, &at, disabled);
        let headers = self.named(fields, "headers", place, disabled);
        let Ok(url) = Url::parse(&value) else {
            if !disabled {
                self.fault(&at, "is not a valid address", "write it like https://host/mcp");
            }
            return None;
        };
        Some(Transport::Http { written: written.to_owned(), url, headers })
    }

    /// Refuses an address that leads into an internal network, whatever its name resolves to.
    fn check_address(&mut self, config: &ServerConfig, place: &str) {
        let Transport::Http { url, .. } = &config.transport else { return };
        let at = format!("{place}.url");
        if !url.username().is_empty() || url.password().is_some() {
            self.fault(&at, "contains a user name or a password", "write them under \"headers\"");
        }
        match (url.scheme(), is_loopback(url)) {
            ("https" | "http", true) if config.loopback => {}
            ("https" | "http", true) => self.fault(
                &at,
                "is an address of this machine",
                "add \"allowLoopback\": true to the server if it is one of yours",
            ),
            ("https", false) => {}
            ("http", false) => self.fault(&at, "is not encrypted", "write https://"),
            _ => self.fault(&at, "is neither https nor http", "write https://"),
        }
    }

    fn named(
        &mut self,
        fields: &Map<String, Value>,
        key: &str,
        place: &str,
        disabled: bool,
    ) -> BTreeMap<String, SecretString> {
        let at = format!("{place}.{key}");
        let mut out = BTreeMap::new();
        match fields.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Object(named)) if named.len() <= MOST_WORDS => {
                for (name, value) in named {
                    let at = format!("{at}.{name}");
                    match scalar(value) {
                        Some(text) => {
                            let value = self.value(&text, &at, disabled);
                            out.insert(name.clone(), SecretString::from(value));
                        }
                        None => self.fault(&at, "is not a text", "write it in quotes"),
                    }
                }
            }
            Some(_) => self.fault(
                &at,
                format!("is not an object of at most {MOST_WORDS} texts by name"),
                "write { \"NAME\": \"value\" }",
            ),
        }
        out
    }

    fn folders(&mut self, fields: &Map<String, Value>, key: &str, place: &str) -> Vec<PathBuf> {
        let mut out = Vec::new();
        match fields.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
                for (n, path) in list.iter().filter_map(Value::as_str).enumerate() {
                    let filled = self.value(path, &format!("{place}.{key}[{n}]"), false);
                    out.push(self.path(&filled));
                }
            }
            Some(_) => {
                self.fault(&format!("{place}.{key}"), "is not a list of paths", "write [\"path\"]");
            }
        }
        out
    }

    /// `timeout` is in seconds in some files and in milliseconds in others; one of 1,000 or more is taken
    /// as milliseconds. `timeoutInMillis` is elizaOS's.
    fn timeout(&mut self, fields: &Map<String, Value>, place: &str) -> Duration {
        let number = |key: &str| fields.get(key).filter(|value| !value.is_null());
        let (key, value, millis) = match (number("timeoutInMillis"), number("timeout")) {
            (Some(value), _) => ("timeoutInMillis", value, true),
            (None, Some(value)) => ("timeout", value, false),
            (None, None) => return CALL,
        };
        let at = format!("{place}.{key}");
        let Some(number) = value.as_f64().filter(|n| n.is_finite() && *n > 0.0) else {
            self.fault(&at, "is not a positive number", "write a number of milliseconds");
            return CALL;
        };
        let seconds = if millis || number >= 1_000.0 { number / 1_000.0 } else { number };
        if seconds > LONGEST_CALL.as_secs_f64() {
            let what =
                format!("is longer than {} s, which is used instead", LONGEST_CALL.as_secs());
            self.remark(&at, what, "write a shorter time");
            return LONGEST_CALL;
        }
        Duration::from_secs_f64(seconds.max(1.0))
    }

    fn filled(&mut self, text: &str, place: &str, disabled: bool) -> Filled {
        let value = self.value(text, place, disabled);
        Filled { written: text.to_owned(), value: value.into() }
    }

    fn value(&mut self, text: &str, place: &str, disabled: bool) -> String {
        match fill(text, self.lookup) {
            Ok(value) => value,
            Err(name) => {
                if !disabled {
                    let what = format!("the variable {} is not set", short(&name));
                    self.fault(
                        place,
                        what,
                        "set it in the environment, in .env or in the character",
                    );
                }
                String::new()
            }
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
            (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
            _ => self.folder.join(path),
        }
    }
}

/// Whether an address names this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn short(text: &str) -> String {
    galatea_http::redact::plain(text, 40)
}

#[cfg(test)]
mod tests;
