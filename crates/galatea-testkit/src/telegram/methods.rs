//! The Bot API's methods, one file per family.

mod access;
mod callback;
mod chats;
mod commands;
mod edit;
mod files;
mod identity;
mod media;
mod react;
mod send;
mod webhook;

use serde_json::Value;

use super::{
    answer::{Answer, Refusal},
    params::Params,
    schema::Method,
    state::State,
};

pub(crate) use files::photo_sizes;
pub(crate) use identity::me;

impl State {
    /// Runs one call against the world, after its checks. Notes become violations.
    pub(crate) fn run(
        &mut self,
        method: &'static Method,
        params: &Params,
    ) -> Result<Value, Refusal> {
        let answer = run(self, method, params);
        for note in params.take_notes() {
            self.violate(method.name, &note);
        }
        if let Err(refusal) = &answer
            && refusal.violation
        {
            let what = refusal.description.clone();
            self.violate(method.name, &what);
        }
        answer
    }
}

/// Runs a call: checks the declared parameters, then runs the method. `getUpdates` waits, so it is
/// part of the HTTP side.
fn run(state: &mut State, method: &'static Method, params: &Params) -> Answer {
    check_declared(method, params)?;
    match method.name {
        "getMe" => Ok(me(state)),
        "logOut" | "close" => Ok(Value::Bool(true)),
        "setWebhook" => webhook::set(state, params),
        "deleteWebhook" => webhook::delete(state, params),
        "getWebhookInfo" => Ok(webhook::info(state)),
        "sendMessage" => send::message(state, params),
        "sendMediaGroup" => media::group(state, params),
        "sendPhoto" | "sendDocument" | "sendVoice" | "sendAudio" | "sendVideo"
        | "sendAnimation" | "sendSticker" => media::send_file(state, method, params),
        "sendChatAction" => send::action(state, params),
        "editMessageText" => edit::text(state, params),
        "editMessageCaption" => edit::caption(state, params),
        "editMessageReplyMarkup" => edit::markup(state, params),
        "deleteMessage" => edit::delete(state, params),
        "setMessageReaction" => react::set(state, params),
        "answerCallbackQuery" => callback::answer(state, params),
        "setMyCommands" => commands::set(state, params),
        "getMyCommands" => commands::get(state, params),
        "deleteMyCommands" => commands::delete(state, params),
        "getChat" => chats::get(state, params),
        "getChatAdministrators" => chats::administrators(state, params),
        "getChatMember" => chats::member(state, params),
        "getChatMemberCount" => chats::count(state, params),
        "leaveChat" => chats::leave(state, params),
        "getFile" => files::get(state, params),
        other => Err(Refusal::not_found(&format!("Not Found: method {other} not found"))),
    }
}

/// Records unknown parameters as violations, and refuses a call without the required ones.
pub(crate) fn check_declared(method: &Method, params: &Params) -> Result<(), Refusal> {
    for name in params.values().keys() {
        if !method.knows(name) {
            params.note(format!("unknown parameter \"{name}\""));
        }
    }
    for name in params.files().keys() {
        let attached = format!("attach://{name}");
        let named = params.values().values().any(|v| v.to_string().contains(&attached));
        if !named && !method.knows(name) {
            params.note(format!("file part \"{name}\" is neither a parameter nor attached to one"));
        }
    }
    for name in method.required {
        if !params.has(name) {
            // The real server's wording differs per parameter; these are the common ones.
            let what = match *name {
                "chat_id" => "chat_id is empty".to_owned(),
                "text" => "message text is empty".to_owned(),
                "message_id" => "message identifier is not specified".to_owned(),
                "photo" | "document" | "voice" | "audio" | "video" | "animation" | "sticker" => {
                    format!("there is no {name} in the request")
                }
                "file_id" => "file_id not specified".to_owned(),
                "user_id" => "invalid user_id specified".to_owned(),
                other => format!("parameter \"{other}\" is required"),
            };
            return Err(Refusal::broken(what));
        }
    }
    Ok(())
}
