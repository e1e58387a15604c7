//! `cargo xtask bench --prompts`: what the prompts of a recorded talk cost. A test of the message
//! path replays the talk (`tests/tests/line/prompts/talk.txt`) and hands over what each prompt
//! consists of; prices come from the table of models.

use anyhow::{Context, Result};
use galatea_testkit::prompt_cost::{BEFORE, Cache, Charged, Price, Prompt, Sections};
use serde::Deserialize;
use std::{fs, io::Write as _, path::Path, process::Stdio};

use xtask::{cargo, step::succeed};

const TEST: &str = "prompts::prompts_of_a_recorded_talk_begin_with_the_same_text";
const EVIDENCE: &str = "prompts::evidence::evidence_reaches_the_prompt";
const MODELS: &str = "crates/galatea-models/data/models.toml";
/// Seconds after which a prompt is counted as one after a pause: a provider that is not asked for
/// more keeps what it has read for five minutes (Anthropic, "Prompt caching").
const PAUSE: i64 = 300;
#[derive(Debug, Deserialize)]
struct Figures {
    openai: Vec<Prompt>,
    anthropic: Vec<Prompt>,
}

/// Evidence of the questions of `tests/recall` in their prompts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evidence {
    words: f64,
    meaning: f64,
    words_tokens: f64,
    meaning_tokens: f64,
}

/// The figures that a test of the message path writes to the file that this variable names.
fn figures(root: &Path, test: &str, variable: &str, path: &Path) -> Result<String> {
    let mut run = cargo(root, &["test", "--workspace", "--locked", "--test", "line", "--", test]);
    run.arg("--exact").env(variable, path).stdout(Stdio::null());
    succeed(run)?;
    fs::read_to_string(path).context("the test handed over no figures")
}

/// Replays the talk and prints the tables.
pub(super) fn run(root: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a folder for the figures")?;
    let path = folder.path().join("figures.json");
    let text = figures(root, TEST, "GALATEA_PROMPT_FIGURES", &path)?;
    let evidence =
        figures(root, EVIDENCE, "GALATEA_EVIDENCE_FIGURES", &folder.path().join("evidence.json"))?;
    let evidence: Evidence =
        serde_json::from_str(&evidence).context("the figures are unreadable")?;
    let figures: Figures = serde_json::from_str(&text).context("the figures are unreadable")?;
    let models = fs::read_to_string(root.join(MODELS)).context("cannot read the models")?;
    let models: toml::Table = models.parse().context("the table of models is malformed")?;
    let rows = [
        ("claude-sonnet-{version}", Cache::Anthropic, BEFORE * 6 / 5, &figures.anthropic),
        ("gpt-{version}-terra", Cache::OpenAi, BEFORE, &figures.openai),
    ];
    let mut columns = Vec::new();
    for (family, cache, before, prompts) in rows {
        let (model, price) = price(&models, family)?;
        columns.push(Column { model, price, cache, before, prompts });
    }
    let tables = format!("{}\n{}", render(&columns), render_evidence(&evidence));
    std::io::stdout().write_all(tables.as_bytes()).context("cannot write to stdout")
}

fn render_evidence(of: &Evidence) -> String {
    let row = |what: &str, words: String, meaning: String, target: &str| {
        format!("| {what} | {words} | {meaning} | {target} |\n")
    };
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut out =
        "| questions of tests/recall | by words | with embeddings | target |\n|---|---|---|---|\n"
            .to_owned();
    out += &row("evidence in the prompt", percent(of.words), percent(of.meaning), "≥ 60 %, ≥ 70 %");
    let tokens = |mean: f64| format!("{mean:.0}");
    out += &row(
        "tokens of earlier messages, mean",
        tokens(of.words_tokens),
        tokens(of.meaning_tokens),
        "≤ 600",
    );
    out
}

/// The newest model of a family, and its price.
fn price(models: &toml::Table, family: &str) -> Result<(String, Price)> {
    let families = models.get("family").and_then(toml::Value::as_array).into_iter().flatten();
    let mut found = families.filter(|one| one.get("name").and_then(|n| n.as_str()) == Some(family));
    let found = found.next().with_context(|| format!("{MODELS} has no {family}"))?;
    let dollars = |kind: &str| -> Result<f64> {
        let price = found.get("price").and_then(|price| price.get(kind)?.as_str());
        price
            .and_then(|price| price.parse().ok())
            .with_context(|| format!("{family} has no price for {kind}"))
    };
    let price =
        Price { input: dollars("input")?, cached: dollars("cached")?, output: dollars("output")? };
    let model = found.get("model").and_then(|model| model.as_str()).unwrap_or(family).to_owned();
    Ok((model, price))
}

struct Column<'a> {
    model: String,
    price: Price,
    cache: Cache,
    /// Tokens of a prompt of the version before, as this family counts.
    before: u64,
    prompts: &'a [Prompt],
}

#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = numbers.fold((0.0, 0_u32), |(sum, count), n| (sum + n, count + 1));
    sum / f64::from(count.max(1))
}

#[allow(clippy::cast_precision_loss, reason = "thousands of tokens")]
impl Column<'_> {
    fn tokens(&self, percent: usize) -> u64 {
        let mut all: Vec<u64> = self.prompts.iter().map(|prompt| prompt.tokens).collect();
        all.sort_unstable();
        let rank = (percent * all.len()).div_ceil(100).saturating_sub(1);
        all.get(rank).copied().unwrap_or(0)
    }

    /// Shares of the prompts that begin like the one before: of all tokens, and the least.
    fn shared(&self) -> (f64, f64) {
        let later = self.prompts.get(1..).unwrap_or_default();
        let all: u64 = later.iter().map(|prompt| prompt.tokens).sum();
        let shared: u64 = later.iter().map(|prompt| prompt.shared).sum();
        let each = later.iter().map(|prompt| prompt.shared as f64 / prompt.tokens as f64);
        (shared as f64 / all as f64 * 100.0, each.fold(1.0, f64::min) * 100.0)
    }

    /// Dollars of a million prompts, with and without a cache.
    fn cost(&self) -> (f64, f64) {
        let without =
            |prompt: &Prompt| self.price.of(Charged { full: prompt.tokens, ..Charged::default() });
        (self.price.of_talk(self.cache, self.prompts), mean(self.prompts.iter().map(without)))
    }

    fn answer(&self) -> f64 {
        mean(self.prompts.iter().map(|prompt| prompt.answer as f64)) * self.price.output
    }

    fn section(&self, of: impl Fn(&Sections) -> u64) -> f64 {
        mean(self.prompts.iter().map(|prompt| of(&prompt.sections) as f64))
    }

    fn cells(&self) -> Vec<String> {
        let (shared, least) = self.shared();
        let (cost, without) = self.cost();
        let answer = self.answer();
        let kept = self.prompts.iter().filter(|prompt| prompt.after.is_some_and(|s| s <= PAUSE));
        let part =
            |cost: f64| format!("{:.1} %", cost / (self.before as f64 * self.price.input) * 100.0);
        // Of a million answers: four digits are enough.
        let dollars = |cost: f64| format!("{:.3} ¢", cost / 10_000.0);
        vec![
            format!("{} of {}", kept.count(), self.prompts.len()),
            format!("{:.0}", mean(self.prompts.iter().map(|prompt| prompt.tokens as f64))),
            self.tokens(95).to_string(),
            self.tokens(100).to_string(),
            format!("{:.0}", self.section(|s| s.tools)),
            format!("{:.0}", self.section(|s| s.instructions)),
            format!("{:.0}", self.section(|s| s.conversation)),
            format!("{:.0}", self.section(|s| s.turn)),
            format!("{shared:.1} %"),
            format!("{least:.1} %"),
            dollars(cost),
            dollars(without),
            part(cost),
            dollars(answer),
        ]
    }
}

const ROWS: [(&str, &str); 14] = [
    ("prompts within five minutes of the one before", "–"),
    ("tokens of a prompt, mean", "≤ 1,500"),
    ("tokens of a prompt, p95", "–"),
    ("tokens of a prompt, most", "–"),
    ("… tools", "–"),
    ("… instructions", "–"),
    ("… conversation", "–"),
    ("… this turn only", "–"),
    ("beginning in common with the prompt before, mean", "≥ 85 %"),
    ("the same, least", "–"),
    ("cost of a prompt", "–"),
    ("the same without a cache", "–"),
    ("in parts of a prompt of the version before, paid whole", "≤ 35 %"),
    ("cost of the answer's own tokens", "–"),
];

fn render(columns: &[Column<'_>]) -> String {
    let mut out = String::from("| |");
    for column in columns {
        out += &format!(" {} |", column.model);
    }
    out += &format!(" target |\n|---|{}---|\n", "---|".repeat(columns.len()));
    let cells: Vec<Vec<String>> = columns.iter().map(Column::cells).collect();
    for (n, (what, target)) in ROWS.iter().enumerate() {
        out += &format!("| {what} |");
        for column in &cells {
            out += &format!(" {} |", column.get(n).map_or("–", String::as_str));
        }
        out += &format!(" {target} |\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_and_shares_stand_in_the_table() {
        let prompt = |after, shared| Prompt {
            after,
            tokens: 2_000,
            shared,
            marked: 0,
            instructions_kept: 0,
            answer: 50,
            sections: Sections::default(),
        };
        let prompts = [prompt(None, 0), prompt(Some(10), 1_500)];
        let price = Price { input: 1.0, cached: 0.1, output: 5.0 };
        let column = Column {
            model: "m".to_owned(),
            price,
            cache: Cache::OpenAi,
            before: 2_200,
            prompts: &prompts,
        };
        let table = render(&[column]);
        for line in [
            "| tokens of a prompt, mean | 2000 | ≤ 1,500 |",
            "| beginning in common with the prompt before, mean | 75.0 % | ≥ 85 % |",
            "| cost of a prompt | 0.169 ¢ | – |",
            "| the same without a cache | 0.200 ¢ | – |",
            "| cost of the answer's own tokens | 0.025 ¢ | – |",
        ] {
            assert!(table.lines().any(|found| found == line), "{line} in\n{table}");
        }
    }

    #[test]
    fn evidence_stands_in_a_table() {
        let of = Evidence { words: 0.625, meaning: 0.8, words_tokens: 61.4, meaning_tokens: 300.0 };
        let table = render_evidence(&of);
        assert!(
            table.contains("| evidence in the prompt | 62.5 % | 80.0 % | ≥ 60 %, ≥ 70 % |"),
            "{table}"
        );
        assert!(table.contains("| 61 | 300 | ≤ 600 |"), "{table}");
    }

    #[test]
    fn prices_stand_in_the_table_of_models() {
        let root = xtask::root().unwrap();
        let models: toml::Table = fs::read_to_string(root.join(MODELS)).unwrap().parse().unwrap();
        for family in ["claude-sonnet-{version}", "gpt-{version}-terra"] {
            let (_, price) = price(&models, family).unwrap();
            assert!(price.cached < price.input && price.input < price.output, "{price:?}");
        }
    }
}
