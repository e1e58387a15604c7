//! What grants permit, and what they cannot.

use super::*;
use uuid::Uuid;

const AGENT: AgentId = AgentId(Uuid::from_u128(1));
const ROOM: RoomId = RoomId(Uuid::from_u128(2));
const WORLD: WorldId = WorldId(Uuid::from_u128(3));
const ANN: EntityId = EntityId(Uuid::from_u128(4));
const BEN: EntityId = EntityId(Uuid::from_u128(5));

fn tool() -> ToolIdentity {
    ToolIdentity::new("weather", "forecast").pinned("a1")
}

fn used<'a>(tool: &'a ToolIdentity, people: &'a [EntityId]) -> ToolUse<'a> {
    ToolUse {
        tool,
        world: Some(WORLD),
        room: ROOM,
        people,
        standing: Standing::Member,
        table: Ruling::Refuse,
        words: Authorship::Others,
        given: false,
        may_be_kept: true,
    }
}

fn rule(tools: &str, from: &str) -> Grant {
    Grant::rule(AGENT, tools.parse().unwrap(), parse_least(from).unwrap(), Timestamp(0))
}

fn limit(tools: &str, from: &str) -> Grant {
    Grant { kind: GrantKind::Limit, world: Some(WORLD), ..rule(tools, from) }
}

#[test]
fn patterns_are_read_and_match_without_case() {
    let all: ToolPattern = "Weather/*".parse().unwrap();
    assert!(all.matches(&tool()) && !all.is_exact() && all.to_string() == "Weather/*");
    let one: ToolPattern = "weather/FORECAST".parse().unwrap();
    assert!(one.matches(&tool()) && !one.matches(&ToolIdentity::new("weather", "alerts")));
    for wrong in ["", "weather", "weather/", "/forecast", "*/*", "*/forecast"] {
        let error = wrong.parse::<ToolPattern>().unwrap_err();
        assert_eq!(error.code(), Some("GAL-GRANT-FORM"), "{wrong}");
    }
}

#[test]
fn a_pattern_that_means_no_tool_is_an_error_that_names_those_there_are() {
    let known = [tool(), ToolIdentity::new("files", "read")];
    let check = |text: &str| text.parse::<ToolPattern>().unwrap().check(known.iter());
    assert!(check("weather/*").is_ok() && check("files/read").is_ok());
    let near = check("weather/forcast").unwrap_err();
    assert_eq!(near.code(), Some("GAL-GRANT-TOOL"));
    assert!(near.fix().unwrap().contains("weather/forecast"), "{near:?}");
    assert!(check("mail/*").unwrap_err().fix().unwrap().contains("files/*, weather/*"));
}

#[test]
fn without_a_grant_the_table_decides() {
    let tool = tool();
    for table in [Ruling::Allow, Ruling::Confirm, Ruling::Refuse] {
        let used = ToolUse { table, ..used(&tool, &[ANN]) };
        let judged = judge(&[rule("mail/*", "member")], &used);
        assert_eq!((judged.ruling, judged.by), (table, None));
    }
}

#[test]
fn a_rule_opens_a_tool_from_a_standing_on_and_asks_as_it_says() {
    let tool = tool();
    let of = |grant: &Grant, standing, words| {
        judge(std::slice::from_ref(grant), &ToolUse { standing, words, ..used(&tool, &[ANN]) })
            .ruling
    };
    let admins = rule("weather/*", "admin");
    assert_eq!(of(&admins, Standing::Member, Authorship::Own), Ruling::Refuse);
    assert_eq!(of(&admins, Standing::Admin, Authorship::Own), Ruling::Allow);
    assert_eq!(of(&admins, Standing::Owner, Authorship::Others), Ruling::Confirm);
    let silent = Grant { ask: GrantAsk::Never, ..admins.clone() };
    assert_eq!(of(&silent, Standing::Admin, Authorship::Others), Ruling::Allow);
    let always = Grant { ask: GrantAsk::Always, ..admins };
    assert_eq!(of(&always, Standing::AgentOwner, Authorship::Own), Ruling::Confirm);
    let nobody = rule("weather/forecast", "nobody");
    assert_eq!(of(&nobody, Standing::AgentOwner, Authorship::Own), Ruling::Refuse);
}

#[test]
fn the_narrowest_rule_counts_and_of_equal_ones_the_stricter() {
    let tool = tool();
    let of = |grants: &[Grant]| judge(grants, &used(&tool, &[ANN])).ruling;
    let everybody = Grant { ask: GrantAsk::Never, ..rule("weather/*", "member") };
    let here = Grant { room: Some(ROOM), ..rule("weather/*", "nobody") };
    assert_eq!(of(&[everybody.clone(), here.clone()]), Ruling::Refuse);
    let elsewhere = Grant { room: Some(RoomId(Uuid::from_u128(9))), ..here };
    assert_eq!(of(&[everybody.clone(), elsewhere]), Ruling::Allow);
    assert_eq!(of(&[rule("weather/forecast", "owner"), everybody.clone()]), Ruling::Refuse);
    assert_eq!(of(&[rule("weather/*", "nobody"), everybody]), Ruling::Refuse);
}

#[test]
fn a_worlds_owner_makes_it_stricter_and_never_wider() {
    let tool = tool();
    let of =
        |grants: &[Grant], table| judge(grants, &ToolUse { table, ..used(&tool, &[ANN]) }).ruling;
    let open = Grant { ask: GrantAsk::Never, ..limit("weather/*", "member") };
    assert_eq!(
        of(std::slice::from_ref(&open), Ruling::Refuse),
        Ruling::Refuse,
        "no right of their own"
    );
    assert_eq!(of(&[open], Ruling::Confirm), Ruling::Confirm);
    let everybody = Grant { ask: GrantAsk::Never, ..rule("weather/*", "member") };
    assert_eq!(
        of(&[everybody.clone(), limit("weather/*", "admin")], Ruling::Refuse),
        Ruling::Refuse
    );
    let asks = Grant { ask: GrantAsk::Always, ..limit("weather/*", "member") };
    assert_eq!(of(&[everybody.clone(), asks], Ruling::Refuse), Ruling::Confirm);
    let of_another =
        Grant { world: Some(WorldId(Uuid::from_u128(8))), ..limit("weather/*", "nobody") };
    assert_eq!(of(&[everybody, of_another], Ruling::Refuse), Ruling::Allow);
}

#[test]
fn a_consent_takes_the_question_away_for_that_person_and_tool_as_it_was() {
    let tool = tool();
    let asked = ToolUse { table: Ruling::Confirm, ..used(&tool, &[ANN]) };
    let before = judge(&[], &asked);
    assert!(before.ruling == Ruling::Confirm && before.may_be_kept);
    let consent = Grant::consent(AGENT, &tool, ANN, Some(ROOM), Timestamp(0));
    let of = |used: &ToolUse<'_>| judge(std::slice::from_ref(&consent), used).ruling;
    assert_eq!(of(&asked), Ruling::Allow);
    assert_eq!(of(&ToolUse { table: Ruling::Refuse, ..asked }), Ruling::Refuse, "no right");
    assert_eq!(of(&ToolUse { people: &[BEN], ..asked }), Ruling::Confirm);
    assert_eq!(of(&ToolUse { people: &[ANN, BEN], ..asked }), Ruling::Confirm);
    assert_eq!(of(&ToolUse { room: RoomId(Uuid::from_u128(9)), ..asked }), Ruling::Confirm);
    assert_eq!(of(&ToolUse { may_be_kept: false, ..asked }), Ruling::Confirm);
    let changed = ToolIdentity::new("weather", "forecast").pinned("b2");
    assert_eq!(of(&ToolUse { tool: &changed, ..asked }), Ruling::Confirm, "a changed tool");
    let always = Grant { ask: GrantAsk::Always, ..rule("weather/*", "member") };
    assert_eq!(judge(&[consent.clone(), always], &asked).ruling, Ruling::Confirm);
}

#[test]
fn a_rule_with_a_pin_dies_with_the_description() {
    let (tool, changed) = (tool(), ToolIdentity::new("weather", "forecast").pinned("b2"));
    let pinned = Grant {
        pin: Some("a1".into()),
        ask: GrantAsk::Never,
        ..rule("weather/forecast", "member")
    };
    let of = |tool| judge(std::slice::from_ref(&pinned), &used(tool, &[ANN])).ruling;
    assert_eq!((of(&tool), of(&changed)), (Ruling::Allow, Ruling::Refuse));
}

#[test]
fn what_was_confirmed_runs_once_and_gives_no_right() {
    let tool = tool();
    let given = ToolUse { given: true, ..used(&tool, &[ANN]) };
    let always = Grant { ask: GrantAsk::Always, ..rule("weather/*", "member") };
    assert_eq!(judge(&[always], &given).ruling, Ruling::Allow);
    assert_eq!(judge(&[rule("weather/*", "admin")], &given).ruling, Ruling::Refuse);
}

#[test]
fn spellings_are_read_back() {
    for least in Standing::ALL.iter().copied().map(Some).chain([None]) {
        assert_eq!(parse_least(least_as_str(least)), Some(least));
    }
    assert_eq!(parse_least("king"), None);
    for ask in [GrantAsk::Never, GrantAsk::OthersWords, GrantAsk::Always] {
        assert_eq!(GrantAsk::parse(ask.as_str()), Some(ask));
    }
    for kind in [GrantKind::Rule, GrantKind::Limit, GrantKind::Consent] {
        assert_eq!(GrantKind::parse(kind.as_str()), Some(kind));
    }
}
