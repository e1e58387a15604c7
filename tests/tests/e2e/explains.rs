//! Why it did not answer.

use crate::stage::Stage;

#[tokio::test]
async fn explain_tells_why_a_group_message_was_not_answered() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let group = stage.telegram.supergroup("Band", &[&stage.ann]);
    let _galatea = stage.start().await;
    let ignored = stage.ann.says(&group, "Q1 to nobody").send();
    stage.ann.says(&group, &format!("@{} Q2", stage.telegram.bot_username())).send();
    stage.wait_text(&group, "A2").await;
    let told = stage.program().args(["explain".to_owned(), format!("{}:{ignored}", group.id)]).run().await;
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
    assert!(told.stdout.contains("GROUP_POLICY") || told.stdout.contains("mention"), "{}", told.stdout);
}
