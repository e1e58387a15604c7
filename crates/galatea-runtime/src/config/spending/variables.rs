//! Settings that limit answers and money.

use galatea_core::Variable;

/// Platforms on which the limits hold.
pub const LIMITS: Variable = Variable::new(
    "LIMITS",
    "Where the limits below hold: public (platforms on which strangers can write), on (everywhere) or off. AGENT_OWNERS are exempt.",
)
.or("public").per_platform();
/// Answers to one person. A person who reads the answers rarely writes more than once in eight
/// seconds for minutes; 300 a day is an hour of that.
pub const LIMIT_PERSON: Variable = Variable::new(
    "LIMIT_PERSON",
    "Answers to one person, such as `8/min, 300/day`; `burst=12` after a comma says how many at once (as many as a minute's when unset), none lifts it.",
)
.or("8/min, 300/day").per_platform();
/// A Room's answers. Telegram lets a bot send 20 messages a minute to a group (Bots FAQ, "My bot is
/// hitting limits"): more would wait anyway.
pub const LIMIT_ROOM: Variable =
    Variable::new("LIMIT_ROOM", "Answers in one room, written as for LIMIT_PERSON.")
        .or("20/min, 2000/day")
        .per_platform();
/// A World's answers: three busy Rooms.
pub const LIMIT_WORLD: Variable = Variable::new(
    "LIMIT_WORLD",
    "Answers in one World (a server, or a group with its topics), written as for LIMIT_PERSON.",
)
.or("60/min, 5000/day")
.per_platform();
/// The agent's answers. Five a second are a sixth of what Telegram lets a bot send; strangers get
/// their share of it.
pub const LIMIT_AGENT: Variable =
    Variable::new("LIMIT_AGENT", "Answers of the agent as a whole, written as for LIMIT_PERSON; the value of a platform limits the answers there besides.")
        .or("300/min, 20000/day").per_platform();
/// Budget of a stranger: about seven answers of a large model, or eighty of a small one.
pub const BUDGET_STRANGER: Variable = Variable::new(
    "BUDGET_STRANGER",
    "What one stranger may cost a day (UTC): US dollars, and tokens of models whose price is not known; of the two, what is left out keeps its default; none lifts it. A stranger is \
     who was not answered on an earlier day and is neither on an allowlist nor approved.",
)
.or("0.05 USD, 100000 tokens").per_platform();
/// Budget of a known person.
pub const BUDGET_PERSON: Variable = Variable::new(
    "BUDGET_PERSON",
    "What one known person may cost a day, written as for BUDGET_STRANGER.",
)
.or("0.50 USD, 1000000 tokens")
.per_platform();
/// Budget of a Room.
pub const BUDGET_ROOM: Variable =
    Variable::new("BUDGET_ROOM", "What one room may cost a day, written as for BUDGET_STRANGER.")
        .or("2 USD, 4000000 tokens")
        .per_platform();
/// Budget of the agent.
pub const BUDGET_AGENT: Variable = Variable::new(
    "BUDGET_AGENT",
    "What the agent may cost a day, written as for BUDGET_STRANGER. At 80 % its owners are warned and the small model answers; once it is \
     used up, only they are answered. Embedding messages and documents in the background may use half. The value of a platform caps what it costs there besides.",
)
.or("10 USD, 20000000 tokens").per_platform();
/// The part of the agent's limits that strangers share: regulars keep the rest.
pub const STRANGERS_SHARE: Variable =
    Variable::new("STRANGERS_SHARE", "Per cent of the agent's answers and budget that all strangers together may use; the rest is kept for known people.")
        .or("50").per_platform();
/// The part of the limits of many people that commands may use. A quarter of a group's 20 a minute
/// shows the help to five people; three quarters are left for questions.
pub const COMMANDS_SHARE: Variable = Variable::new(
    "COMMANDS_SHARE",
    "Per cent of the answers of a room, a World, a platform, the agent and all strangers that commands (/help, /privacy, …) may use; they count as answers as well. Owners, confirmations, \
     and /mute, /unmute and /reset of a group's admins are exempt.",
)
.or("25").per_platform();
/// Most messages of one person that wait in a group while others wait.
pub const LIMIT_WAITING: Variable = Variable::new(
    "LIMIT_WAITING",
    "Messages of one person that wait in a group while others wait, too; of more than that the newest are answered. none lifts it.",
)
.or("5").per_platform();
/// The text that a refused person reads.
pub const LIMIT_NOTICE: Variable = Variable::new(
    "LIMIT_NOTICE",
    "What a person reads who has reached a limit, once a day for the rate and once for the day; none says nothing. A sentence of its own when unset.",
).per_platform();
/// People who are never answered.
pub const BLOCK_PEOPLE: Variable = Variable::new(
    "BLOCK_PEOPLE",
    "People who are never answered: platform ids or @handles (which may change their owner), separated by commas. `galatea block` does it while it runs.",
).per_platform();
/// Rooms in which nothing is answered.
pub const BLOCK_ROOMS: Variable =
    Variable::new("BLOCK_ROOMS", "Rooms in which nothing is answered, by the platform's ids.")
        .per_platform();
/// Worlds in which nothing is answered.
pub const BLOCK_WORLDS: Variable = Variable::new(
    "BLOCK_WORLDS",
    "Worlds (servers, groups with their topics) in which nothing is answered, by the platform's ids.",
).per_platform();
