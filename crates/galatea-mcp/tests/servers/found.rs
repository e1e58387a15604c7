//! Two hundred tools in a window of 8,192 tokens: the prompt keeps its budget, and the search finds the
//! right tool.

use crate::stage::Stage;
use galatea_mcp::{AgentServers, budget};

const QUESTIONS: &[(&str, &str)] = &[
    ("open a new issue in our repository", "create_issue"),
    ("which flights are there", "list_flight"),
    ("put lunch with Ada into my calendar", "create_calendar_event"),
    ("delete the invoice of last week", "delete_invoice"),
    ("find the e-mail about the contract", "search_email"),
    ("tell me when the log lines change", "watch_log_stream"),
    ("share my photo album with Maria", "share_photo_album"),
    ("copy this wiki page", "copy_wiki_page"),
    ("change the fields of a customer", "update_customer"),
    ("export the table of the database to a file", "export_database_table"),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_right_one_of_two_hundred_tools_is_found() {
    let stage = Stage::new();
    let server = stage.start(&stage.fixture(&["serve", "--many", "200"])).await;
    let servers = AgentServers::new(vec![server.clone()]);
    assert!(servers.cost() > budget(8_192), "they do not fit");
    let mut right = 0;
    for (question, wanted) in QUESTIONS {
        let found = servers.find(question);
        let wanted = format!("fixture_{wanted}");
        right += usize::from(found.contains(&wanted));
        println!("{question}: {found:?}");
    }
    assert!(right >= 9, "{right} of {}", QUESTIONS.len());
    // The same order in every prompt.
    let names =
        || servers.plugin(&server).actions.iter().map(|a| a.docs().name).collect::<Vec<_>>();
    assert_eq!(names(), names());
    assert_eq!(names().len(), 202, "200 tools, a resource and a prompt");
    server.stop().await;
}
