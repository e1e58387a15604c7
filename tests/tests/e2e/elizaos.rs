//! `galatea memory import` of elizaOS's database: dumps in both forms of `pg_dump` (`COPY` of
//! PostgreSQL, `INSERT` of PGlite) and with the column names of both generations of elizaOS.

use galatea_testkit::process::Program;
use serde_json::{Value, json};
use std::fmt::Write as _;

use crate::{places::Database, stage::Stage};

/// The agent of the dump, and another one of the same database.
const AGENT: &str = "b850bc30-45f8-0041-a00a-83df46d8555d";
const OTHER: &str = "0ae4cf3b-73a5-0a1f-b2a6-3d8e95c1f0aa";
const ADA: &str =
    r#"{"name": "Ada", "id": "b850bc30-45f8-0041-a00a-83df46d8555d", "bio": "Keeps bees."}"#;

/// Form of a dump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// Blocks of `COPY`, as `pg_dump` writes them.
    Copy,
    /// One `INSERT` a row without columns, as PGlite's `pg_dump` writes them.
    Insert,
}

/// Names of columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Names {
    /// elizaOS 1.0: `"agentId"`, but not in `entities`.
    Camel,
    /// Later versions: `agent_id`.
    Snake,
}

/// Tables in the order of `pg_dump`, which is that of their names: memories before their rooms.
const TABLES: [(&str, &str); 7] = [
    ("agents", "id name created_at"),
    ("entities", "id agent_id created_at names metadata"),
    ("memories", "id type created_at content entity_id agent_id room_id world_id unique metadata"),
    ("participants", "id created_at entity_id room_id agent_id room_state"),
    ("relationships", "id created_at source_entity_id target_entity_id agent_id tags metadata"),
    ("rooms", "id agent_id source type server_id world_id name metadata channel_id created_at"),
    ("worlds", "id agent_id name metadata server_id created_at"),
];

/// Rows of a dump; a missing column is NULL.
#[derive(Default)]
pub(crate) struct Rows(Vec<(&'static str, Value)>);

pub(crate) fn id(n: u32) -> String {
    format!("{n:08x}-0000-4000-8000-000000000000")
}

impl Rows {
    fn add(&mut self, table: &'static str, mut row: Value) {
        row["created_at"] = row.get("created_at").cloned().unwrap_or(json!("2025-11-02 10:00:00"));
        self.0.push((table, row));
    }

    pub(crate) fn memory(&mut self, n: u32, agent: &str, kind: &str, who: u32, text: &str) {
        let second = n % 60;
        let content = json!({ "text": text, "source": "telegram" }).to_string();
        let at = format!("2025-11-02 10:00:{second:02}.123");
        self.add("memories", json!({
            "id": id(n), "type": kind, "created_at": at, "content": content, "entity_id": id(who), "agent_id": agent,
            "room_id": id(31), "world_id": id(41), "unique": "t", "metadata": json!({ "type": kind }).to_string(),
        }));
    }

    /// Two people of one room of one world, who know each other.
    pub(crate) fn house(&mut self, agent: &str) {
        self.add("agents", json!({ "id": agent, "name": "Ada" }));
        let people = [(21, r#"{Ann,"Ann \"A\" Lee"}"#), (22, "{Bob}")];
        for (n, names) in people {
            let metadata = json!({ "telegram": { "id": n.to_string() } }).to_string();
            self.add(
                "entities",
                json!({ "id": id(n), "agent_id": agent, "names": names, "metadata": metadata }),
            );
            self.add(
                "participants",
                json!({ "id": id(n + 30), "entity_id": id(n), "room_id": id(31), "agent_id": agent }),
            );
        }
        self.add("rooms", json!({
            "id": id(31), "agent_id": agent, "source": "telegram", "type": "GROUP", "server_id": "-1001", "world_id": id(41),
            "name": "it's\nthe (club);", "metadata": "{}", "channel_id": "-1001",
        }));
        self.add("worlds", json!({ "id": id(41), "agent_id": agent, "name": "Club", "metadata": "{}", "server_id": "-1001" }));
        self.add("relationships", json!({
            "id": id(61), "source_entity_id": id(21), "target_entity_id": id(22), "agent_id": agent,
            "tags": "{friend,\"rows, too\"}", "metadata": r#"{"interactions": 4}"#,
        }));
    }

    /// The dump as text.
    pub(crate) fn dump(&self, form: Form, names: Names) -> String {
        let mut dump =
            "--\n-- PostgreSQL database dump\n--\n\nSET standard_conforming_strings = on;\n\n"
                .to_owned();
        for (table, columns) in TABLES {
            let columns: Vec<&str> = columns.split(' ').collect();
            let named: Vec<String> = columns.iter().map(|c| column(table, c, names)).collect();
            let _ = writeln!(dump, "CREATE TABLE public.{table} (");
            for name in &named {
                let _ = writeln!(dump, "    {name} text NOT NULL,");
            }
            let _ = writeln!(dump, "    CONSTRAINT {table}_check CHECK (true)\n);\n\n");
            let rows = self.0.iter().filter(|(of, _)| *of == table).map(|(_, row)| row);
            let cell = |row: &Value, column: &str| row[column].as_str().map(str::to_owned);
            if form == Form::Copy {
                let _ = writeln!(dump, "COPY public.{table} ({}) FROM stdin;", named.join(", "));
                for row in rows {
                    let cells = columns.iter().map(|c| cell(row, c).map_or("\\N".into(), copied));
                    let _ = writeln!(dump, "{}", cells.collect::<Vec<_>>().join("\t"));
                }
                dump += "\\.\n\n";
                continue;
            }
            for row in rows {
                let quoted = |text: String| format!("'{}'", text.replace('\'', "''"));
                let cells = columns.iter().map(|c| cell(row, c).map_or("NULL".into(), quoted));
                let cells = cells.collect::<Vec<_>>().join(", ");
                let _ = writeln!(dump, "INSERT INTO public.{table} VALUES ({cells});");
            }
        }
        dump + "--\n-- PostgreSQL database dump complete\n--\n"
    }
}

fn column(table: &str, name: &str, names: Names) -> String {
    if names == Names::Snake || table == "entities" || table == "agents" || !name.contains('_') {
        return name.to_owned();
    }
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part[..1].to_uppercase() + &part[1..]);
    format!("\"{first}{}\"", rest.collect::<String>())
}

/// A value of a `COPY` line.
fn copied(text: String) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

fn rows() -> Rows {
    let mut rows = Rows::default();
    rows.house(AGENT);
    rows.memory(1, AGENT, "messages", 21, "I keep bees in Ghent\n\nand it's \"fine\" \\ wet");
    rows.memory(2, AGENT, "messages", 22, "The rowing club meets on Tuesdays");
    rows.memory(3, AGENT, "facts", 21, "Ann is allergic to walnuts");
    rows.memory(4, OTHER, "messages", 22, "canary of another agent");
    rows
}

async fn import(program: Program) -> Value {
    let done = program.args(["memory", "import", "eliza.sql", "--json"]).run().await;
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

/// Makes the database and its agent.
async fn begin(program: Program) {
    let mut running = program.arg("start").spawn();
    running.wait_for_line("ready in").await;
    running.terminate();
    running.finish().await;
}

#[tokio::test]
async fn a_dump_is_stored_under_its_ids_and_found() {
    let stage = Stage::set().await;
    stage.home.write("ada.json", ADA);
    for (n, (form, names)) in [
        (Form::Copy, Names::Snake),
        (Form::Insert, Names::Snake),
        (Form::Copy, Names::Camel),
        (Form::Insert, Names::Camel),
    ]
    .into_iter()
    .enumerate()
    {
        let data = format!("data-{n}");
        let ada = || {
            stage.program().env("CHARACTER_FILES", "ada.json").env("GALATEA_DATA_DIR", data.clone())
        };
        begin(ada()).await;
        stage.home.write("eliza.sql", &rows().dump(form, names));
        for new in [3, 0] {
            let done = import(ada()).await;
            assert_eq!((&done["format"], &done["read"]), (&json!("elizaos"), &json!(3)));
            assert_eq!(done["new"], new, "{form:?} {names:?}: {done}");
        }
        let database = Database::open_in(&stage.home.path().join(&data)).await;
        for (query, wanted) in [
            (
                "SELECT id, entity_id, room_id, world_id, type FROM memories ORDER BY id",
                vec![
                    [id(1), id(21), id(31), id(41), "messages".into()],
                    [id(2), id(22), id(31), id(41), "messages".into()],
                    [id(3), id(21), id(31), id(41), "facts".into()],
                ],
            ),
            (
                "SELECT id, agent_id, world_id, remote, name FROM rooms WHERE source = 'telegram'",
                vec![[id(31), AGENT.into(), id(41), "-1001".into(), "it's\nthe (club);".into()]],
            ),
            (
                "SELECT id, source_entity_id, target_entity_id, agent_id, tags FROM relationships",
                vec![[id(61), id(21), id(22), AGENT.into(), r#"["friend","rows, too"]"#.into()]],
            ),
        ] {
            assert_eq!(database.rows(query).await, wanted, "{form:?} {names:?}: {query}");
        }
        let participants = database
            .rows("SELECT entity_id, room_id FROM participants WHERE room_id = (SELECT id FROM rooms WHERE remote = '-1001')")
            .await;
        for who in [21, 22] {
            let here = participants.iter().filter(|row| **row == [id(who), id(31)]).count();
            assert_eq!(here, 1, "{participants:?}");
        }

        let found = async |arguments: &[&str]| {
            let search = ada().args(["memory", "search", "--json"]);
            let done = search.args(arguments.iter().copied()).run().await;
            let found: Value = serde_json::from_str(&done.stdout).unwrap();
            let of = |hit: &Value| {
                let memory = &hit["memory"];
                (memory["id"].clone(), memory["content"]["text"].clone())
            };
            found["hits"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
        };
        let bees = "I keep bees in Ghent\n\nand it's \"fine\" \\ wet";
        assert_eq!(found(&["bees", "--person", "Ann"]).await, [(json!(id(1)), json!(bees))]);
        assert_eq!(found(&["bees", "--person", "Bob"]).await, []);
        let walnuts = found(&["walnuts", "--kind", "facts"]).await;
        assert_eq!(walnuts, [(json!(id(3)), json!("Ann is allergic to walnuts"))]);
        assert_eq!(found(&["canary"]).await, [], "another agent's");
        let listed = ada().args(["memory", "ls", "--json", "--person", "Bob"]).run().await;
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        assert_eq!(listed["memories"][0]["createdAt"], 1_762_077_602_123_i64, "{listed}");
    }
}

/// Ids are kept, so they have to be those of the agent that gets the rows.
#[tokio::test]
async fn the_dump_of_another_agent_is_refused_with_its_id() {
    let stage = Stage::set().await;
    stage.home.write("bob.json", r#"{"name": "Bob", "bio": "Rows."}"#);
    let bob = || stage.program().env("CHARACTER_FILES", "bob.json");
    begin(bob()).await;
    stage.home.write("eliza.sql", &rows().dump(Form::Copy, Names::Camel));
    let done = bob().args(["memory", "import", "eliza.sql"]).run().await;
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    let own = galatea_core::ids::string_to_uuid("Bob");
    for word in ["GAL-MEMORY-IMPORT", "eliza.sql", AGENT, &own, "\"id\""] {
        assert!(done.stderr.contains(word), "{word} is missing: {}", done.stderr);
    }
    let database = Database::open(stage.home.path()).await;
    let stored = "SELECT id FROM memories UNION ALL SELECT id FROM relationships UNION ALL SELECT id FROM rooms WHERE source = 'telegram'";
    assert_eq!(database.rows(stored).await, Vec::<Vec<String>>::new());

    // The fix it names works.
    stage.home.write("ada.json", ADA);
    let ada =
        || stage.program().env("CHARACTER_FILES", "ada.json").env("GALATEA_DATA_DIR", "elsewhere");
    begin(ada()).await;
    assert_eq!(import(ada()).await["new"], 3);
}
