"""Prometheus scrapes a run: its values agree with the record, and `promtool` accepts the metrics, the queries of the dashboard
and the rules."""
import sqlite3

from serving import *

for tool in ("prometheus", "promtool"):
    if not shutil.which(tool):
        skip(f"no {tool} (Debian's package prometheus)")


def promtool(*arguments, **options):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, **options)
    return done.returncode, done.stdout + done.stderr


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class Prometheus:
    def __init__(self, folder, target):
        self.port = free_port()
        (folder / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s}}
rule_files: [{SOURCE / "docs/grafana/alerts.yml"}]
scrape_configs: [{{job_name: plimsoll, static_configs: [{{targets: ["127.0.0.1:{target}"]}}]}}]
""")
        self.log = open(folder / "prometheus.log", "w")
        self.process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                                         f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def ask(self, query):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query?query={urllib.parse.quote(query)}", timeout=10) as answer:
                return json.loads(answer.read())["data"]["result"]
        except (OSError, ValueError):
            return []

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def test_text_is_clean(folder):
    for command in (["train", "--small", 100_000, "--out", "run", "--serve"], ["watch", "--interval", "50ms", "--serve", "--", "sleep", "60"]):
        served = Served(folder, *command).begun()
        code, said = promtool("check", "metrics", input=served.get("/metrics")[1])
        assert code == 0 and not said.strip(), said
        served.running.send(signal.SIGINT)
        served.running.wait()


def test_values_are_the_records(folder):
    served = Served(folder, "train", "--small", 100_000, "--out", "run", "--serve").begun()
    prometheus = Prometheus(folder, served.port)
    try:
        until(lambda: prometheus.ask("plimsoll_train_step > 50"), 90, "nothing was scraped")
        names = ["plimsoll_train_step", "plimsoll_train_loss", "plimsoll_train_learning_rate", "plimsoll_tree_rss_bytes", "plimsoll_plan_bytes"]
        scraped = [{name: {round(float(time), 3): float(value) for time, value in prometheus.ask(f"{name}[1m]")[0]["values"]} for name in names}
                   for _ in range(1)][0]
        served.running.send(signal.SIGINT)
        served.running.wait()
    finally:
        prometheus.stop()
    base = sqlite3.connect(folder / "run" / "run.db")
    rows = {step: row for step, *row in base.execute("SELECT step, loss, lr FROM steps")}
    rss = {row[0] for row in base.execute("SELECT rss FROM memory")}
    checked = 0
    for at, step in scraped["plimsoll_train_step"].items():
        loss, rate = rows[int(step)]
        assert scraped["plimsoll_train_loss"][at] == loss and scraped["plimsoll_train_learning_rate"][at] == rate
        assert scraped["plimsoll_tree_rss_bytes"][at] in rss
        checked += 1
    assert checked >= 1
    plan = base.execute("SELECT max(offset + bytes) FROM plan").fetchone()[0]
    assert set(scraped["plimsoll_plan_bytes"].values()) == {plan}
    return f"{checked} scrapes equal the record"


def test_rules_and_dashboard(folder):
    code, said = promtool("check", "rules", SOURCE / "docs/grafana/alerts.yml")
    assert code == 0 and "SUCCESS" in said, said
    dashboard = json.loads((SOURCE / "docs/grafana/dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert len(queries) >= 8
    served = Served(folder, "train", "--small", 100_000, "--out", "run", "--serve").begun()
    documented = set(re.findall(r"`(plimsoll_[a-z_]+)", (SOURCE / "docs/live.md").read_text()))
    try:
        shown = {re.match("[a-z_]+", name).group(0) for name in served.metrics()}
        assert shown <= documented, shown - documented
        named = set(re.findall(r"plimsoll_[a-z_]+", " ".join(queries) + (SOURCE / "docs/grafana/alerts.yml").read_text()))
        assert named <= documented, named - documented
    finally:
        served.running.send(signal.SIGINT)
        served.running.wait()


run_tests(globals())
