//! Settings, and characters with their versions.

use galatea_core::{character::Difference, settings::Origin, store::CharacterVersion};
use galatea_host::ops::{ChangedSetting, CurrentCharacter, ListedSetting, Remark};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::list;

/// A setting.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingView {
    name: String,
    /// Heading of its group.
    group: &'static str,
    /// Its purpose.
    help: &'static str,
    /// Its value, or its default; absent for a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    is_set: bool,
    /// `environment`, `file`, `character`, `flag`, `console` or `default`.
    origin: &'static str,
    /// Where exactly, for people.
    place: String,
    secret: bool,
    /// It can be set here.
    editable: bool,
    /// When it was set here.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<i64>,
    /// Who set it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
}

impl From<ListedSetting> for SettingView {
    fn from(setting: ListedSetting) -> Self {
        let (changed_at, changed_by) = match setting.stored {
            Some((at, by)) => (Some(at.0), Some(by)),
            None => (None, None),
        };
        Self {
            name: setting.name,
            group: setting.group,
            help: setting.help,
            value: setting.value,
            is_set: setting.is_set,
            origin: match setting.origin {
                Origin::Environment => "environment",
                Origin::File { .. } => "file",
                Origin::Character { .. } => "character",
                Origin::Flag(_) => "flag",
                Origin::Stored => "console",
                Origin::Default => "default",
            },
            place: setting.origin.to_string(),
            secret: setting.secret,
            editable: setting.editable,
            changed_at,
            changed_by,
        }
    }
}

list!(/// Settings, in the order of the reference.
    SettingList of SettingView);

/// A setting after its change.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ChangedSettingView {
    setting: SettingView,
    /// Agents were made anew for it, or are still.
    restarted: bool,
}

impl From<ChangedSetting> for ChangedSettingView {
    fn from(changed: ChangedSetting) -> Self {
        Self { setting: changed.setting.into(), restarted: changed.restarted }
    }
}

/// A character as it is now.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CharacterView {
    agent: Uuid,
    /// Number of its newest version.
    version: i64,
    /// Sent as `If-Match` to save only over this version.
    etag: String,
    /// The character, without secrets.
    #[schema(value_type = Object)]
    body: Value,
    saved_by: String,
    saved_at: i64,
    /// Path of its file; absent for an agent that was created here.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// It is another one than its file's. The file counts again once it is changed.
    edited: bool,
}

impl From<CurrentCharacter> for CharacterView {
    fn from(current: CurrentCharacter) -> Self {
        let CurrentCharacter { version, file, edited } = current;
        Self {
            agent: version.agent.0,
            etag: etag(version.version),
            version: version.version,
            body: version.body,
            saved_by: version.by,
            saved_at: version.at.0,
            file,
            edited,
        }
    }
}

/// The tag of a version of a character.
pub(crate) fn etag(version: i64) -> String {
    format!("\"v{version}\"")
}

/// A version of a character.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CharacterVersionView {
    version: i64,
    at: i64,
    by: String,
    /// It was read from the character's file.
    from_file: bool,
    /// The character, without secrets.
    #[schema(value_type = Object)]
    body: Value,
}

impl From<CharacterVersion> for CharacterVersionView {
    fn from(version: CharacterVersion) -> Self {
        let CharacterVersion { version, at, by, from_file, body, .. } = version;
        Self { version, at: at.0, by, from_file, body }
    }
}

list!(/// Versions of a character, newest first.
    CharacterVersionList of CharacterVersionView);

/// A change between two versions.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct DifferenceView {
    /// Where, such as `style.all[2]`.
    path: String,
    /// The value before, as JSON; absent for an added one.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// The value after, as JSON; absent for a removed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl From<Difference> for DifferenceView {
    fn from(difference: Difference) -> Self {
        let text = |value: Option<Value>| value.map(|value| value.to_string());
        Self {
            path: difference.path,
            before: text(difference.before),
            after: text(difference.after),
        }
    }
}

list!(/// Changes between two versions.
    DifferenceList of DifferenceView);

/// A remark about a character.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RemarkView {
    code: String,
    /// `error` if the character is refused for it, else `warn`.
    level: &'static str,
    /// Line of the text; absent for the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl From<Remark> for RemarkView {
    fn from(remark: Remark) -> Self {
        Self {
            code: remark.code.to_owned(),
            level: if remark.refused { "error" } else { "warn" },
            line: (remark.line > 0).then_some(remark.line),
            text: remark.text,
            help: remark.help,
        }
    }
}

list!(/// Remarks about a character.
    RemarkList of RemarkView);

/// The answer of a character that is tried.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PreviewView {
    pub(crate) text: String,
}
