// Exchanges the secret in the link's fragment for a session. The fragment never leaves the browser
// but in this request, and is taken out of the history.
const state = document.getElementById("state");
const link = location.hash.slice(1);
history.replaceState(null, "", "/login");

async function signIn() {
  if (!link) {
    state.textContent = "This page needs a login link.";
    return;
  }
  try {
    const answer = await fetch("/api/v1/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ link }),
    });
    const body = await answer.json();
    if (answer.ok) {
      location.replace("/");
      return;
    }
    state.textContent = `${body.detail} (${body.code})`;
  } catch {
    state.textContent = "Galatea does not answer.";
  }
}

signIn();
