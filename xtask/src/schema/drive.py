"""Starts galatea in an empty folder, signs in, and runs schemathesis as three callers."""
import json, os, socket, subprocess, sys, tempfile, time, urllib.request

program, examples = sys.argv[1], sys.argv[2]
# These start programs, ask models, end the caller's own rights, or never end.
LEFT_OUT = ["testServer", "approveServer", "previewCharacter", "followEvents", "signOut", "endSession",
            "revokeToken", "changeUser", "removeUser", "resetUser", "restartAgent", "stopAgent", "reconnectConnector"]
# A request that cannot be read is refused before anybody asks who sent it, and a name may be unknown.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def call(base, method, path, body=None, headers=None):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(base + path, data=data, method=method)
    request.add_header("content-type", "application/json")
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.headers, json.loads(answer.read() or b"{}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        env = {"PATH": os.environ["PATH"], "HOME": folder}
        log = open(os.path.join(folder, "log"), "w+")
        server = subprocess.Popen([program, "start", "--port", str(port)], cwd=folder, env=env, stdout=log, stderr=log)
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(base + "/healthz", timeout=1)
                    break
                except OSError:
                    time.sleep(0.2)
            link = subprocess.run([program, "login"], cwd=folder, env=env, capture_output=True, text=True, check=True)
            secret = link.stdout.strip().split("#", 1)[1]
            headers, _ = call(base, "POST", "/api/v1/session", {"link": secret}, {"origin": base})
            cookie = headers["set-cookie"].split(";", 1)[0]
            tokens = {}
            for role in ["viewer", "owner"]:
                _, made = call(base, "POST", "/api/v1/tokens", {"name": role, "role": role}, {"cookie": cookie, "origin": base})
                tokens[role] = made["secret"]
            failed = False
            for role in [None, "viewer", "owner"]:
                command = [sys.executable, "-m", "schemathesis.cli", "run", base + "/openapi.json", "--url", base,
                           "--checks", CHECKS, "--max-examples", examples, "--workers", "1", "--continue-on-failure",
                           "--phases", "examples,coverage,fuzzing", "--no-color", "--generation-database", "none"]
                if role:
                    command += ["-H", "Authorization: Bearer " + tokens[role]]
                for operation in LEFT_OUT:
                    command += ["--exclude-operation-id", operation]
                print(f"== as {role or 'nobody'}", flush=True)
                failed |= subprocess.run(command, cwd=folder, env=env).returncode != 0
                if server.poll() is not None:
                    log.seek(0)
                    print(log.read()[-4000:])
                    print("the server ended")
                    failed = True
                    break
            return failed
        finally:
            server.terminate()
            server.wait(40)


sys.exit(1 if main() else 0)
