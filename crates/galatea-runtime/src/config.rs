//! Settings of the runtime: when to answer, how busy rooms behave, how long things may take.

mod accounts;
mod flow;
mod limits;
mod platform;
mod policy;
mod remarks;
mod spending;
mod traces;

use galatea_core::Variable;

pub use accounts::AccountSettings;
pub(crate) use accounts::Policies;
pub(crate) use flow::Flow;
pub use limits::{BusyPolicy, Confirmation, ConversationTokens, InstanceLimits, Limits};
pub use platform::platform_variables;
pub use policy::{DmPolicy, GroupPolicy, Parts, Policy};
pub use remarks::{GAL_LISTED, remarks};
pub(crate) use spending::owners;
pub use spending::{
    BLOCK_PEOPLE, BLOCK_ROOMS, BLOCK_WORLDS, BUDGET_AGENT, BUDGET_PERSON, BUDGET_ROOM,
    BUDGET_STRANGER, COMMANDS_SHARE, Cap, LIMIT_AGENT, LIMIT_NOTICE, LIMIT_PERSON, LIMIT_ROOM,
    LIMIT_WAITING, LIMIT_WORLD, LIMITS, Rate, STRANGERS_SHARE, Spending,
};

pub use traces::{TraceLevel, TraceLimits};

/// How much of a turn is recorded.
pub const TRACES: Variable = Variable::new(
    "TRACES",
    "What is kept of each turn beside its verdict, for `galatea trace`: full (steps, prompts, answers), steps (without texts), off. Under flood texts are left out first, then traces.",
)
.or("full");
/// Days for which traces are kept.
pub const TRACE_DAYS: Variable =
    Variable::new("TRACE_DAYS", "Days for which traces are kept, from 1 to 365.").or("7");
/// Megabytes of texts in traces.
pub const TRACE_MEGABYTES: Variable = Variable::new(
    "TRACE_MEGABYTES",
    "Megabytes of prompts and answers that the traces of the agent may hold; the oldest go first, their steps stay.",
)
.or("256");
/// People who may talk to the agent in direct messages.
pub const DM_POLICY: Variable =
    Variable::new("DM_POLICY", "Direct messages: open, allowlist, pairing or disabled.")
        .or("open")
        .per_platform();
/// People on the allowlist.
pub const ALLOW_FROM: Variable = Variable::new(
    "ALLOW_FROM",
    "People on the allowlist: platform ids, or handles with @ (a handle may change its owner, an id never does), separated by commas.",
)
.per_platform();
/// Events that make the agent answer in groups.
pub const GROUP_POLICY: Variable = Variable::new(
    "GROUP_POLICY",
    "Groups: any of mention, reply, name (separated by commas), or always, ambient (a model decides), disabled.",
)
.alias(&["GROUP_RESPONSE_POLICY"])
.or("mention,reply,name")
.per_platform();
/// Meaning of `name` in GROUP_POLICY.
pub const NAME_RULE: Variable = Variable::new(
    "NAME_RULE",
    "What `name` in GROUP_POLICY means: addressed (the message begins or ends with the agent's name, or calls it as in `so, NAME, …`) or anywhere (the name \
     stands in it as a word). Its name on the platform and the first word of a name of several count too.",
)
.or("addressed")
.per_platform();
/// Length of an answer at once.
pub const ANSWER_PARTS: Variable = Variable::new(
    "ANSWER_PARTS",
    "Most messages that one answer becomes at once; the rest is kept for a day and sent when the person who asked says `more`, in a reply, by /more or by \
     the button. auto: about 8,000 characters in 2 to 4 messages where strangers read along, in private chats any number; none: any number.",
)
.or("auto")
.per_platform();
/// Longest answer of a model.
pub const ANSWER_TOKENS: Variable = Variable::new(
    "ANSWER_TOKENS",
    "Longest answer of a model, in tokens, thoughts aside; unset: 1024. TEXT_LARGE_MAX_TOKENS and DEFAULT_MAX_TOKENS, which count thoughts, have \
     precedence.",
)
.per_platform();
/// True if the agent answers.
pub const AUTO_REPLY: Variable =
    Variable::new("AUTO_REPLY", "Answer at all.").or("true").per_platform();
/// Rooms that get answers.
pub const ALLOWED_CHATS: Variable = Variable::new(
    "ALLOWED_CHATS",
    "Rooms the agent answers in, by their ids on the platform: a JSON list, or separated by commas; every room when unset.",
)
.alias(&["ALLOWED_ROOMS"])
.per_platform();
/// Rooms without answers.
pub const LISTEN_CHATS: Variable = Variable::new(
    "LISTEN_CHATS",
    "Rooms where the agent only listens, by their ids on the platform: what is said is remembered, and nothing is answered.",
)
.per_platform();
/// People who get answers.
pub const TARGET_USERS: Variable = Variable::new(
    "TARGET_USERS",
    "People who are answered: ids, or handles with @, separated by commas; everyone when unset.",
)
.per_platform();
/// Room types that always get an answer.
pub const ALWAYS_RESPOND_CHANNELS: Variable = Variable::new(
    "ALWAYS_RESPOND_CHANNELS",
    "Room types that always get an answer, such as DM,GROUP,THREAD.",
)
.alias(&["SHOULD_RESPOND_BYPASS_TYPES"]);
/// Platforms that always get an answer.
pub const ALWAYS_RESPOND_SOURCES: Variable = Variable::new(
    "ALWAYS_RESPOND_SOURCES",
    "Platforms that always get an answer; a part of the name is enough.",
)
.alias(&["SHOULD_RESPOND_BYPASS_SOURCES"]);
/// Answer bots at all.
pub const ALLOW_BOTS: Variable =
    Variable::new("ALLOW_BOTS", "Answer other bots.").or("false").per_platform();
/// Bot to bot hops.
pub const BOT_HOP_LIMIT: Variable =
    Variable::new("BOT_HOP_LIMIT", "Answers to bots in a row before a person has to speak.")
        .or("3");
/// The agent answers only in Rooms that it follows.
pub const DEFLLMOFF: Variable = Variable::new(
    "BOOTSTRAP_DEFLLMOFF",
    "Stay silent in rooms that the agent does not follow (elizaOS).",
)
.or("false");
/// Fewest instances of the agent.
pub const INSTANCES_MIN: Variable = Variable::new(
    "INSTANCES_MIN",
    "Instances of the agent while little is to be done; each makes one turn at a time. Needs INSTANCES_MAX.",
)
.or("1");
/// Most instances of the agent.
pub const INSTANCES_MAX: Variable = Variable::new(
    "INSTANCES_MAX",
    "Most instances of the agent, which is the most turns at once; unset: one turn in each room at once, in any number of rooms.",
);
/// Wait after which an instance is added.
pub const INSTANCES_WAIT_MS: Variable = Variable::new(
    "INSTANCES_WAIT_MS",
    "Milliseconds that the oldest waiting turn waits before an instance is added; one is removed after ten times as long in which no turn waits.",
)
.or("1000");
/// Treatment of messages that arrive while an answer is made.
pub const BUSY_POLICY: Variable = Variable::new(
    "BUSY_POLICY",
    "Messages that arrive while an answer is being made: auto (direct messages collect, groups each), collect (one answer to all that wait), each (one answer per message), interrupt (start again with both), drop (skip, with the reason).",
)
.or("auto");
/// Most messages that one answer may address.
pub const COLLECT_LIMIT: Variable =
    Variable::new("COLLECT_LIMIT", "Most messages that one collected answer addresses.").or("12");
/// Most earlier messages of a prompt.
pub const CONVERSATION_LENGTH: Variable =
    Variable::new("CONVERSATION_LENGTH", "Earlier messages of the room that the model is shown.")
        .or("32");
/// Tokens of earlier messages that a prompt shows.
pub const CONVERSATION_TOKENS: Variable = Variable::new(
    "CONVERSATION_TOKENS",
    "Tokens of earlier messages that the model is shown at most, besides CONVERSATION_LENGTH; the newest eight are shown in any case, as far as the model takes them. auto: a quarter of the model's window, at most 3,000. none: as many as there are.",
)
.or("auto");
/// Time for each provider of a turn.
pub const PROVIDERS_TOTAL_TIMEOUT_MS: Variable = Variable::new(
    "PROVIDERS_TOTAL_TIMEOUT_MS",
    "Longest time a provider may take, in milliseconds; a slower one is left out.",
)
.or("1000");
/// Pause before evaluators that call a model.
pub const EVALUATION_PAUSE_SECONDS: Variable = Variable::new(
    "EVALUATION_PAUSE_SECONDS",
    "Seconds without an answer in a room after which the agent learns from the conversation there, and seconds without any message after which it embeds messages; 0 does not wait.",
)
.or("5");
/// Rounds of tools in a turn.
pub const TOOL_STEPS: Variable = Variable::new(
    "TOOL_STEPS",
    "Rounds of tools in one turn: the model reads what its tools returned and may call more, up to so many times. All rounds share the turn's time and the agent's limits. From 1 to 20.",
)
.or("6");
/// Time from the start of a turn until it has an answer.
pub const TURN_TIMEOUT_SECONDS: Variable =
    Variable::new("TURN_TIMEOUT_SECONDS", "Longest time one turn may take, in seconds.").or("120");
/// Age of a question.
pub const MESSAGE_TTL_MINUTES: Variable = Variable::new(
    "MESSAGE_TTL_MINUTES",
    "A message older than this, in minutes, when its turn comes is not answered any more; on X, where mentions of an outage are answered afterwards, a day when unset.",
)
.or("60")
.per_platform();
/// Age of an answer.
pub const ANSWER_TTL_MINUTES: Variable = Variable::new(
    "ANSWER_TTL_MINUTES",
    "An answer that could not be sent for this long, in minutes, is not sent any more.",
)
.or("10");
/// Notice to a room when no model answers.
pub const MODEL_NOTICE: Variable = Variable::new("MODEL_NOTICE", "What a room reads when no model answers, once in ten minutes; none says nothing. A text of your own is read, too, where the model's filter withholds an answer; unset, the room then reads that the model does not answer this.")
    .or("Sorry, I cannot think right now: my language model does not answer. Please try again in a few minutes.");
/// Treatment of a send whose outcome stays unknown.
pub const DELIVERY_WHEN_UNSURE: Variable = Variable::new(
    "DELIVERY_WHEN_UNSURE",
    "What to do with an answer that may have arrived when the platform cannot tell: resend (may be read twice) or hold (may be lost; shown as ambiguous).",
)
.or("resend");
/// The script in public.
pub const OFFLINE_RESPONDER_PUBLIC: Variable = Variable::new(
    "OFFLINE_RESPONDER_PUBLIC",
    "Let the offline script answer on public platforms when no model is configured.",
)
.or("false");

/// Actions that go beyond their Room.
pub const ACTION_CONFIRMATION: Variable = Variable::new(
    "ACTION_CONFIRMATION",
    "Actions beyond the present room (messages elsewhere, roles, settings of other rooms) wait until the person who asked confirms them: others-words (while other people's words are before the model), always, never.",
)
.or("others-words");
/// Time for which they wait.
pub const ACTION_CONFIRMATION_MINUTES: Variable = Variable::new(
    "ACTION_CONFIRMATION_MINUTES",
    "How long an action waits for its confirmation, in minutes; then it is not done.",
)
.or("10");

/// Every setting the runtime reads.
pub const VARIABLES: &[Variable] = &[
    INSTANCES_MIN,
    INSTANCES_MAX,
    INSTANCES_WAIT_MS,
    DM_POLICY,
    ALLOW_FROM,
    GROUP_POLICY,
    NAME_RULE,
    ANSWER_PARTS,
    ANSWER_TOKENS,
    AUTO_REPLY,
    ALLOWED_CHATS,
    LISTEN_CHATS,
    TARGET_USERS,
    ALWAYS_RESPOND_CHANNELS,
    ALWAYS_RESPOND_SOURCES,
    ALLOW_BOTS,
    BOT_HOP_LIMIT,
    DEFLLMOFF,
    BUSY_POLICY,
    COLLECT_LIMIT,
    CONVERSATION_LENGTH,
    CONVERSATION_TOKENS,
    PROVIDERS_TOTAL_TIMEOUT_MS,
    EVALUATION_PAUSE_SECONDS,
    TOOL_STEPS,
    TURN_TIMEOUT_SECONDS,
    MESSAGE_TTL_MINUTES,
    ANSWER_TTL_MINUTES,
    MODEL_NOTICE,
    DELIVERY_WHEN_UNSURE,
    OFFLINE_RESPONDER_PUBLIC,
    ACTION_CONFIRMATION,
    ACTION_CONFIRMATION_MINUTES,
    TRACES,
    TRACE_DAYS,
    TRACE_MEGABYTES,
    LIMITS,
    LIMIT_PERSON,
    LIMIT_ROOM,
    LIMIT_WORLD,
    LIMIT_AGENT,
    BUDGET_STRANGER,
    BUDGET_PERSON,
    BUDGET_ROOM,
    BUDGET_AGENT,
    STRANGERS_SHARE,
    COMMANDS_SHARE,
    LIMIT_WAITING,
    LIMIT_NOTICE,
    BLOCK_PEOPLE,
    BLOCK_ROOMS,
    BLOCK_WORLDS,
    galatea_core::zone::TIMEZONE,
    galatea_core::quiet_hours::QUIET_HOURS,
];
