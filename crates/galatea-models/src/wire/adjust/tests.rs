//! Tests of rewriting requests after refusals.

use super::{
    recognise::{RefusedField, recognise},
    *,
};
use galatea_core::model::{ChatMessage, TextRequest};

/// A request of Chat Completions with everything that may be sent.
fn chat() -> Value {
    json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be kind." },
            { "role": "user", "content": "Ann: hi", "name": "Ann" },
            { "role": "user", "content": [{ "type": "text", "text": "look" }, { "type": "image_url", "image_url": { "url": "data:" } }] },
            { "role": "assistant", "content": "hello" },
            { "role": "system", "content": "It is noon." },
            { "role": "user", "content": "Ann: bye", "name": "Ann" },
        ],
        "tools": [{ "type": "function", "function": { "name": "SEND", "description": "Sends.", "parameters": { "type": "object", "properties": { "seed": {} } } } }],
        "max_tokens": 500, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": 7,
        "repetition_penalty": 1.1, "frequency_penalty": 0.1, "presence_penalty": 0.2,
        "reasoning_effort": "low", "stop": ["x"], "stream": true,
        "stream_options": { "include_usage": true }, "prompt_cache_key": "k",
    })
}

fn without_late() -> Value {
    let mut body = chat();
    body["messages"].as_array_mut().unwrap().remove(4);
    body
}

fn fields(names: &[&str]) -> Option<RefusedField> {
    let all = names.iter().map(|name| Adjustment::Without((*name).to_owned())).collect();
    Some(RefusedField::Adjust(all))
}

fn one(adjustment: Adjustment) -> Option<RefusedField> {
    Some(RefusedField::Adjust(vec![adjustment]))
}

/// Texts of providers and servers, from their issue trackers and documentation.
#[test]
fn the_refused_field_is_read_from_each_services_words() {
    let renamed = || one(Adjustment::Renamed("max_tokens".into(), "max_completion_tokens".into()));
    let turns = || Some(RefusedField::Adjust(vec![Adjustment::LateSystem, Adjustment::Turns]));
    let cases: &[(u16, &str, Option<RefusedField>)] = &[
        // Mistral.
        (
            422,
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"user","name"],"msg":"Extra inputs are not permitted","input":"stop seed"}]},"type":"invalid_request_error","param":null,"code":null}"#,
            fields(&["messages.name"]),
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":7},{"type":"extra_forbidden","loc":["body","min_p"],"msg":"Extra inputs are not permitted","input":0.1}]}"#,
            fields(&["min_p", "seed"]),
        ),
        // OpenAI.
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            renamed(),
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#,
            fields(&["temperature"]),
        ),
        (
            400,
            r#"{"error":{"message":"Unknown parameter: 'min_p'.","type":"invalid_request_error","param":"min_p","code":"unknown_parameter"}}"#,
            fields(&["min_p"]),
        ),
        (
            400,
            r#"{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error","param":null,"code":null}}"#,
            fields(&["stream_options"]),
        ),
        (
            400,
            r#"{"error":{"message":"Unrecognized request argument supplied: seed","type":"invalid_request_error","param":null,"code":null}}"#,
            fields(&["seed"]),
        ),
        // Azure.
        (
            400,
            r#"{"error":{"message":"Additional properties are not allowed ('prompt_cache_key' was unexpected)","type":"invalid_request_error","param":null,"code":null}}"#,
            fields(&["prompt_cache_key"]),
        ),
        // Groq.
        (
            400,
            r#"{"error":{"message":"'messages.1' : for 'role:user' the following must be satisfied[('messages.1.name' : property 'messages.1.name' is unsupported)]","type":"invalid_request_error"}}"#,
            fields(&["messages.name"]),
        ),
        (
            400,
            r#"{"error":{"message":"property 'top_k' is unsupported, did you mean 'top_p'?","type":"invalid_request_error"}}"#,
            fields(&["top_k"]),
        ),
        // vLLM.
        (
            400,
            r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]","type":"BadRequestError","param":null,"code":400}"#,
            fields(&["stream_options"]),
        ),
        // DeepSeek, and other servers in Rust.
        (
            422,
            "Failed to deserialize the JSON body into the target type: messages[1]: unknown field `name`, expected `role` or `content` at line 1 column 80",
            fields(&["messages.name"]),
        ),
        // Servers in Go.
        (400, r#"{"error":"json: unknown field \"seed\""}"#, fields(&["seed"])),
        // Fireworks.
        (
            400,
            r#"{"error":{"object":"error","type":"invalid_request_error","message":"Extra inputs are not permitted, field: 'repetition_penalty', value: 1.1"}}"#,
            fields(&["repetition_penalty"]),
        ),
        // xAI.
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"Argument not supported on this model: presencePenalty"}"#,
            fields(&["presence_penalty"]),
        ),
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"Model grok-4 does not support parameter stop."}"#,
            fields(&["stop"]),
        ),
        (
            400,
            r#"{"code":"invalid-argument","error":"Model grok-4 does not support parameter reasoningEffort."}"#,
            fields(&["reasoning_effort"]),
        ),
        // Anthropic's words through a proxy of OpenAI's form.
        (
            400,
            r#"{"error":{"message":"temperature: Extra inputs are not permitted"}}"#,
            fields(&["temperature"]),
        ),
        (
            400,
            r#"{"error":{"message":"`temperature` is deprecated for this model."}}"#,
            fields(&["temperature"]),
        ),
        (
            400,
            r#"{"error":{"message":"`temperature` and `top_p` cannot both be specified for this model. Please use only one."}}"#,
            fields(&["temperature", "top_p"]),
        ),
        // Bedrock.
        (
            400,
            r#"{"message":"Malformed input request: extraneous key [seed] is not permitted, please reformat your input and try again."}"#,
            fields(&["seed"]),
        ),
        // Cohere, Together, llama.cpp, LiteLLM, Hugging Face, LM Studio.
        (
            422,
            r#"{"message":"unknown field: parameter 'min_p' is not a valid field"}"#,
            fields(&["min_p"]),
        ),
        (
            400,
            r#"{"error":{"message":"Input validation error: unknown parameter top_k","type":"invalid_request_error"}}"#,
            fields(&["top_k"]),
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"Unsupported param: seed","type":"server_error"}}"#,
            fields(&["seed"]),
        ),
        (
            400,
            r#"{"error":{"message":"litellm.UnsupportedParamsError: bedrock does not support parameters: ['frequency_penalty'], for model=x. To drop these, set `litellm.drop_params=True`","code":"400"}}"#,
            fields(&["frequency_penalty"]),
        ),
        (
            422,
            r#"{"error":"body must NOT have additional properties: presence_penalty is not allowed","error_type":"validation"}"#,
            fields(&["presence_penalty"]),
        ),
        (
            400,
            r#"{"error":"'stream_options.include_usage' is not supported"}"#,
            fields(&["stream_options.include_usage"]),
        ),
        (
            400,
            r#"{"error":{"message":"streaming is fine, but the field stream is not supported"}}"#,
            fields(&["stream"]),
        ),
        // Tools become the known refusal of tools.
        (
            400,
            r#"{"error":{"message":"Unknown parameter: 'tools'.","param":"tools"}}"#,
            Some(RefusedField::Tools),
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","tool_choice"],"msg":"Extra inputs are not permitted"}]}"#,
            Some(RefusedField::Tools),
        ),
        // Roles and their order.
        (
            400,
            r#"{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}"#,
            turns(),
        ),
        (
            400,
            r#"{"error":{"message":"After the (optional) system message(s), user and assistant roles should be alternating.","type":"invalid_message"}}"#,
            turns(),
        ),
        (
            400,
            r#"{"error":{"message":"messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row"}}"#,
            turns(),
        ),
        (
            400,
            r#"{"error":{"message":"deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your input)."}}"#,
            turns(),
        ),
        (
            400,
            r#"{"message":"Unexpected role 'system' after role 'assistant'","type":"invalid_request_message_order","code":"3230"}"#,
            one(Adjustment::LateSystem),
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"System message must be at the beginning. at row 1, column 80: {{- raise_exception }}","type":"server_error"}}"#,
            one(Adjustment::LateSystem),
        ),
        // Pictures.
        (
            400,
            r#"{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[2].content.[1].type"}}"#,
            one(Adjustment::NoPictures),
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}"#,
            one(Adjustment::NoPictures),
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#,
            one(Adjustment::NoPictures),
        ),
    ];
    let wrong: Vec<_> = cases
        .iter()
        .map(|(status, body, expected)| {
            (recognise(*status, body.as_bytes(), &chat(), "openai"), expected, *body)
        })
        .filter(|(read, expected, _)| read != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_refused_system_role_goes_in_front_of_the_first_message() {
    for (status, body) in [
        (400, r#"{"error":{"message":"System role not supported"}}"#),
        (
            500,
            r#"{"error":{"code":500,"message":"Value is not callable: null at row 1: {{ raise_exception('System role not supported') }}","type":"server_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","param":"messages[0].role","code":"unsupported_value"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            422,
            r#"{"detail":[{"type":"literal_error","loc":["body","messages",0,"role"],"msg":"'system' is not one of ['user', 'assistant']"}]}"#,
        ),
        (
            400,
            r#"{"error":"Error rendering prompt with jinja template: \"Only user and assistant roles are supported, with the exception of an initial optional system message!\""}"#,
        ),
    ] {
        let sent = &without_late();
        let mut known = Vec::new();
        // A template may take several steps to be content.
        while let Some(RefusedField::Adjust(more)) = {
            let mut adjusted = sent.clone();
            adjust(&mut adjusted, &known);
            recognise(status, body.as_bytes(), &adjusted, "openai")
        } {
            known.extend(more);
        }
        let mut adjusted = sent.clone();
        adjust(&mut adjusted, &known);
        assert!(known.contains(&Adjustment::SystemInFront), "{known:?} {body}");
        let messages = adjusted["messages"].as_array().unwrap();
        assert!(!messages.iter().any(is_system), "{body}");
        assert!(
            messages[0]["content"].to_string().contains("Be kind.\\n\\nAnn: hi"),
            "{messages:?}"
        );
    }
}

#[test]
fn what_is_about_something_else_changes_nothing() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"Invalid schema for function 'SEND': 'x' is not valid under any of the given schemas","param":"tools[0].function.parameters"}}"#,
        ),
        (400, r#"{"error":{"message":"Bad request"}}"#),
        (400, r#"{"error":{"message":"This content is not allowed. Please stop."}}"#),
        (400, r#"{"error":{"message":"The model m is not supported"}}"#),
        (400, r#"{"error":{"message":"unknown model m","param":"model"}}"#),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'logit_bias'","param":"logit_bias"}}"#,
        ),
        (401, r#"{"error":{"message":"Unknown parameter: 'seed'.","param":"seed"}}"#),
        (429, r#"{"error":{"message":"Unknown parameter: 'seed'.","param":"seed"}}"#),
        (503, r#"{"error":{"message":"Unsupported param: seed"}}"#),
        (400, ""),
        (400, "<html>not supported</html>"),
    ] {
        assert_eq!(recognise(status, body.as_bytes(), &chat(), "openai"), None, "{status} {body}");
    }
    let anthropic =
        json!({ "model": "m", "max_tokens": 5, "messages": [{ "role": "user", "content": "x" }] });
    let needed = r#"{"error":{"message":"max_tokens: not supported"}}"#;
    assert_eq!(recognise(400, needed.as_bytes(), &anthropic, "anthropic"), None);
}

#[test]
fn what_was_left_out_is_not_read_again() {
    let mut sent = chat();
    adjust(&mut sent, &[Adjustment::Without("seed".into())]);
    let body = r#"{"error":{"message":"Unknown parameter: 'seed'.","param":"seed"}}"#;
    assert_eq!(recognise(400, body.as_bytes(), &sent, "openai"), None);
}

#[test]
fn other_formats_are_adjusted_as_well() {
    let mut google = json!({
        "systemInstruction": { "parts": [{ "text": "Be kind." }] },
        "contents": [{ "role": "user", "parts": [{ "text": "hi" }, { "inlineData": { "data": "x" } }] }],
        "generationConfig": { "seed": 7, "temperature": 1.0 },
    });
    let refusal = r#"{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field.","status":"INVALID_ARGUMENT"}}"#;
    assert_eq!(
        recognise(400, refusal.as_bytes(), &google, "google"),
        fields(&["generationConfig.seed"])
    );
    adjust(
        &mut google,
        &[
            Adjustment::Without("generationConfig.seed".into()),
            Adjustment::SystemInFront,
            Adjustment::NoPictures,
        ],
    );
    assert_eq!(
        google,
        json!({
            "contents": [{ "role": "user", "parts": [{ "text": "Be kind." }, { "text": "hi" }, { "text": NO_PICTURE }] }],
            "generationConfig": { "temperature": 1.0 },
        })
    );
    let mut anthropic = json!({
        "system": [{ "type": "text", "text": "Be kind.", "cache_control": { "type": "ephemeral" } }],
        "messages": [{ "role": "assistant", "content": "hello" }, { "role": "user", "content": "hi" }],
    });
    adjust(&mut anthropic, &[Adjustment::SystemInFront]);
    assert_eq!(anthropic["messages"][0], json!({ "role": "user", "content": "Be kind." }));
    let mut responses =
        json!({ "instructions": "Be kind.", "input": [{ "role": "user", "content": "hi" }] });
    adjust(&mut responses, &[Adjustment::SystemInFront]);
    assert_eq!(responses["input"], json!([{ "role": "user", "content": "Be kind.\n\nhi" }]));
    let mut ollama = json!({ "messages": [{ "role": "user", "content": "hi", "images": ["x"] }], "options": { "min_p": 0.1 } });
    adjust(&mut ollama, &[Adjustment::NoPictures, Adjustment::Without("options.min_p".into())]);
    assert_eq!(ollama, json!({ "messages": [{ "role": "user", "content": "hi" }], "options": {} }));
}

#[test]
fn the_sides_alternate_and_every_word_stays() {
    let mut body = json!({ "messages": [
        { "role": "system", "content": "rules" },
        { "role": "assistant", "content": "hello" },
        { "role": "user", "content": "Ann: hi", "name": "Ann" },
        { "role": "user", "content": "Bob: hi", "name": "Bob" },
        { "role": "system", "content": "It is noon." },
        { "role": "user", "content": [{ "type": "text", "text": "Bob: look" }] },
    ] });
    adjust(&mut body, &[Adjustment::LateSystem, Adjustment::Turns]);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(text_of(&messages[3]["content"]), "Ann: hi\nBob: hi\n(It is noon.)\n\n\nBob: look");
    assert!(messages[3].get("name").is_none(), "the text names the speakers");
}

/// The words are those that the services get which are known to take instructions first only.
#[test]
fn late_instructions_are_said_as_the_core_says_them_beside_people() {
    let messages =
        [ChatMessage::user("hi"), ChatMessage::system(" It is noon. "), ChatMessage::user("bye")];
    let request = TextRequest { messages: messages.to_vec().into(), ..TextRequest::default() };
    let beside = request.with_late_beside_people();
    let expected: Vec<String> = beside.messages.iter().map(ChatMessage::text).collect();
    assert!(expected[1].starts_with('('));
    for (list, late) in [
        ("messages", json!({ "role": "system", "content": " It is noon. " })),
        ("messages", json!({ "role": "developer", "content": " It is noon. " })),
        (
            "messages",
            json!({ "role": "system", "content": [{ "type": "text", "text": " It is noon. " }] }),
        ),
        ("input", json!({ "role": "developer", "content": " It is noon. " })),
        ("contents", json!({ "role": "system", "parts": [{ "text": " It is noon. " }] })),
    ] {
        let said = |text: &str| message(list, "user", text);
        let mut body = json!({ list: [said("hi"), late, said("bye")] });
        adjust(&mut body, &[Adjustment::LateSystem]);
        let adjusted: Vec<Value> = expected.iter().map(|text| said(text)).collect();
        assert_eq!(body, json!({ list: adjusted }));
        assert!(!changes(&body, &Adjustment::LateSystem), "once is enough");
    }
}
