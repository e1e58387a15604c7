//! Tests on a model that is made here.

use super::*;
use galatea_core::Embedding;
use serde_json::json;

const TOKENS_OF: [&str; 10] =
    ["[PAD]", "[UNK]", "tea", "kettle", "##s", "rain", ",", "\u{8336}", "cafe", "a"];

fn tokens() -> Vec<u8> {
    let vocab: serde_json::Map<String, Value> =
        TOKENS_OF.iter().zip(0..).map(|(token, id)| ((*token).to_owned(), json!(id))).collect();
    serde_json::to_vec(&json!({
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 12, "vocab": vocab },
        "normalizer": { "type": "BertNormalizer", "lowercase": true, "strip_accents": null, "handle_chinese_chars": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
    }))
    .unwrap()
}

fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// A table in which tea and kettle point one way and rain another.
fn table() -> Vec<u8> {
    let row = |id: usize| match TOKENS_OF[id] {
        "tea" | "\u{8336}" => [1.0, 0.0],
        "kettle" => [0.8, 0.6],
        "rain" => [0.0, -1.0],
        _ => [0.1, 0.1],
    };
    let data: Vec<u8> = (0..10).flat_map(row).flat_map(f32::to_le_bytes).collect();
    let entry = json!({ "dtype": "F32", "shape": [10, 2], "data_offsets": [0, 80] });
    file(&json!({ "__metadata__": { "format": "pt" }, "embeddings": entry }), &data)
}

fn model() -> LocalEmbedding {
    LocalEmbedding::of("tiny", &table(), &tokens()).unwrap()
}

fn token_texts(text: &str) -> Vec<&'static str> {
    model().tokenizer.token_ids(text).map(|id| TOKENS_OF[id]).collect()
}

#[test]
fn texts_become_tokens_as_bert_cuts_them() {
    assert_eq!(token_texts("Tea,KETTLES  caf\u{e9}"), ["tea", ",", "kettle", "##s", "cafe"]);
    assert_eq!(token_texts("\u{8336}\u{8336}a"), ["\u{8336}", "\u{8336}", "a"], "each is a word");
    assert_eq!(
        token_texts("coffee te\u{0}a teax"),
        ["tea"],
        "unknown words and parts have no token"
    );
    assert_eq!(token_texts("kettlesssssss"), Vec::<&str>::new(), "longer than words may be");
    assert_eq!(token_texts(""), Vec::<&str>::new());
}

#[tokio::test]
async fn similar_texts_have_similar_vectors() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.safetensors"), table()).unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), tokens()).unwrap();
    let model = LocalEmbedding::open(folder.path()).unwrap();
    let info = model.info();
    assert_eq!(info.provider, "local");
    assert!(info.model.contains('@') && info.known_price().is_some(), "{info:?}");
    let texts = ["tea", "a kettle", "rain", "unknown"].map(str::to_owned);
    let vectors = model.embed(&texts).await.unwrap();
    let mean = vectors[1].iter().zip([0.45, 0.35]).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(mean, "the mean of two tokens: {:?}", vectors[1]);
    let [tea, kettle, rain] = [0, 1, 2].map(|n| Embedding::new(vectors[n].clone()).unwrap());
    let similar = |other: &Embedding| tea.similarity(other.numbers()).unwrap();
    assert!(similar(&kettle) > 0.7 && similar(&rain) < 0.1);
    assert!(Embedding::new(vectors[3].clone()).is_err(), "nothing is known of it");
}

#[test]
fn weights_count_and_halves_are_read() {
    // 1, 0 and then 0, 1 as halves; the second token counts three times.
    let data = [0x00, 0x3c, 0, 0, 0, 0, 0x00, 0x3c];
    let weights: Vec<u8> = [1.0_f64, 3.0].into_iter().flat_map(f64::to_le_bytes).collect();
    let header = json!({
        "embeddings": { "dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8] },
        "weights": { "dtype": "F64", "shape": [2], "data_offsets": [8, 24] },
    });
    let vocab = json!({ "model": { "vocab": { "x": 0, "y": 1 } } }).to_string();
    let bytes = file(&header, &[&data[..], &weights].concat());
    let model = LocalEmbedding::of("half", &bytes, vocab.as_bytes()).unwrap();
    assert_eq!(model.embed_one("x y"), [0.5, 1.5]);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_reason() {
    let entry = |shape: Value, to: usize| {
        file(
            &json!({ "embeddings": { "dtype": "F32", "shape": shape, "data_offsets": [0, to] } }),
            &[0; 80],
        )
    };
    let unigram = json!({ "model": { "type": "Unigram", "vocab": [] } }).to_string();
    for (bytes, tokens, told) in [
        (Vec::new(), tokens(), "damaged"),
        (vec![0xff; 64], tokens(), "damaged"),
        (entry(json!([10, 2]), 160), tokens(), "damaged"),
        (entry(json!([10, 3]), 80), tokens(), "damaged"),
        (entry(json!([usize::MAX, 2]), 80), tokens(), "damaged"),
        (entry(json!([20]), 80), tokens(), "two dimensions"),
        (entry(json!([5, 4]), 80), tokens(), "no vector for"),
        (file(&json!({ "mapping": {} }), &[]), tokens(), "quantised"),
        (table(), unigram.into_bytes(), "another kind"),
        (table(), b"{".to_vec(), "not valid JSON"),
    ] {
        let error = LocalEmbedding::of("x", &bytes, &tokens).err().unwrap();
        assert!(error.to_string().contains(told), "{error}");
        assert!(error.fix().is_some());
    }
    let missing = LocalEmbedding::open(Path::new("/nonexistent")).err().unwrap();
    assert!(missing.to_string().contains("cannot be read"), "{missing}");
}

#[test]
fn a_file_cannot_ask_for_longer_words_than_are_looked_up_in_a_short_time() {
    let vocab = json!({ "a": 0, "##a": 1 });
    let file = json!({ "model": { "vocab": vocab, "max_input_chars_per_word": 1_000_000 } });
    let tokenizer = Tokenizer::of(&file).unwrap();
    assert_eq!(tokenizer.token_ids(&"a".repeat(200)).count(), 200);
    assert_eq!(tokenizer.token_ids(&"a".repeat(201)).count(), 0);
}

#[test]
fn a_folder_is_read_once_for_all_agents() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.safetensors"), table()).unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), tokens()).unwrap();
    let dependencies = crate::Dependencies::default();
    let first = dependencies.local_embedding(folder.path()).unwrap();
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let second = dependencies.clone().local_embedding(folder.path()).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    assert!(crate::Dependencies::default().local_embedding(folder.path()).is_err());
}
