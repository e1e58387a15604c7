//! The bot's handle: on every platform the model is shown the name by which people there address
//! it.

use super::Everywhere;

#[tokio::test]
async fn each_platforms_handle_is_linked_to_the_name() {
    let all = Everywhere::set().await;
    let _galatea = all.start().await;
    all.telegram_answers(1).await;
    all.discord_answers(2).await;
    all.x_answers(3).await;
    for (question, handle) in [
        ("Q1", all.stage.telegram.bot_username()),
        ("Q2", "Galatea".to_owned()),
        ("Q3", "galatea_test".to_owned()),
    ] {
        let prompts = all
            .stage
            .model
            .requests()
            .into_iter()
            .map(|request| request.body["messages"].to_string());
        let prompts: Vec<String> = prompts.filter(|prompt| prompt.contains(question)).collect();
        let linked = format!(" @{handle} means ");
        assert!(
            !prompts.is_empty() && prompts.iter().all(|prompt| prompt.contains(&linked)),
            "{linked}: {prompts:?}"
        );
    }
}
