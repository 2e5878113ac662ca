#include "live/site.hpp"

#include <fmt/format.h>

#include <deque>
#include <optional>

#include "base/error.hpp"
#include "live/current.hpp"
#include "live/http_server.hpp"
#include "live/kept_run.hpp"
#include "live/prometheus.hpp"
#include "platform/clock.hpp"
#include "platform/machine.hpp"
#include "platform/memory.hpp"
#include "platform/sockets.hpp"
#include "report/page.hpp"
#include "report/run_json.hpp"

namespace plimsoll::live {
namespace {

constexpr double look_seconds = 0.5;    // between looks at the record
constexpr double silence_seconds = 15;  // after which a stream is told that we are still here
constexpr size_t most_wholes = 4, most_recent = 64, most_recent_bytes = 512 * 1024;
constexpr int batches_per_look = 4;  // of a long record at the start; readers are answered in between

double clock_now() { return platform::monotonic_seconds(); }

class Site {
 public:
  Site(const Listening& listening, std::string token)
      : endpoint_(listening.endpoint),
        token_(std::move(token)),
        cookie_(fmt::format("plimsoll-{}", endpoint_.port)),
        server_(listening.descriptor, [this](const HttpRequest& request) { return answer(request); }) {}

  HttpServer& server() { return server_; }
  void follow(const std::filesystem::path& record) { path_ = record; }
  // Reads what the record has gained and tells the streams.
  void look();
  // Everything that is there, and its end.
  void finish();

 private:
  HttpResponse answer(const HttpRequest& request);
  HttpResponse route(const HttpRequest& request);
  HttpResponse page();
  HttpResponse stream();
  Body whole();
  bool allowed(const HttpRequest& request) const;
  void open();
  void read_news();
  void judge();
  void tell(std::string data);

  Endpoint endpoint_;
  std::string token_, cookie_, machine_ = platform::host_name();
  std::filesystem::path path_;
  std::optional<RunTail> tail_;
  std::optional<Current> current_;
  std::optional<KeptRun> kept_;
  std::string trouble_;      // why the record cannot be read at the moment
  std::deque<Body> recent_;  // the newest messages, for who connects after it fetched the run
  std::deque<std::weak_ptr<const std::string>> wholes_;  // still being sent to a client
  Body whole_;
  double whole_made_ = 0, whole_cost_ = 0;
  double last_told_ = 0, last_judged_ = 0;
  bool news_ = false, ended_told_ = false;
  HttpServer server_;
};

bool Site::allowed(const HttpRequest& request) const {
  if (token_.empty()) return true;
  std::string_view given = request.authorization;
  if (given.starts_with("Bearer ")) return same_token(given.substr(7), token_);
  if (given = query_value(request.query, "token"); !given.empty()) return same_token(given, token_);
  return same_token(cookie_value(request.cookie, cookie_), token_);
}

HttpResponse Site::answer(const HttpRequest& request) {
  if (!host_is_ours(request.host, endpoint_, machine_))
    return plain(403, "this host name is not accepted; use the address that was printed\n");
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused = plain(405, "only GET and HEAD\n");
    refused.header = "Allow: GET, HEAD\r\n";
    return refused;
  }
  if (!allowed(request)) {
    HttpResponse refused = plain(401, "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN\n");
    refused.header = "WWW-Authenticate: Bearer\r\n";
    return refused;
  }
  try {
    return route(request);
  } catch (const std::exception& error) {
    return plain(503, fmt::format("the record cannot be read at the moment: {}\n", error.what()));
  }
}

HttpResponse text_of(std::string_view type, std::string_view text) {
  return {.type = type, .body = std::make_shared<const std::string>(text)};
}

// A part of the page, made once for all who ask.
HttpResponse part(std::string_view path) {
  static const HttpResponse style = text_of("text/css; charset=utf-8", report::page_style());
  static const HttpResponse script = text_of("text/javascript; charset=utf-8", report::page_script());
  static const HttpResponse charts = text_of("text/javascript; charset=utf-8", report::charts_script());
  return path == "/page.css" ? style : path == "/page.js" ? script : charts;
}

HttpResponse Site::page() {
  if (!report::has_charts())
    return text_of("text/plain; charset=utf-8",
                   "This build has no page (libjs-dygraphs was missing). The other paths are /metrics, "
                   "/healthz, /api/run and "
                   "/events.\n");
  HttpResponse response = text_of("text/html; charset=utf-8", report::page(report::PageMode::live));
  // What the page asks for carries the token too, without its being in every address.
  if (!token_.empty())
    response.header =
        fmt::format("Set-Cookie: {}={}; HttpOnly; SameSite=Strict; Path=/\r\n", cookie_, token_);
  return response;
}

HttpResponse Site::route(const HttpRequest& request) {
  const std::string_view path = request.path;
  if (path == "/healthz")
    return plain(trouble_.empty() ? 200 : 503, trouble_.empty() ? "ok\n" : trouble_ + "\n");
  if (path == "/page.css" || path == "/page.js" || path == "/dygraph.js") return part(path);
  const bool ours = path == "/" || path == "/metrics" || path == "/api/run" || path == "/events";
  if (!ours) return plain(404, "not found; the paths are /, /metrics, /healthz, /api/run and /events\n");
  if (!kept_ || kept_->empty()) {
    HttpResponse early = plain(503, "the run has not started yet; this page reloads automatically\n");
    early.header = "Retry-After: 2\r\nRefresh: 2\r\n";
    return early;
  }
  if (path == "/") return page();
  if (path == "/events") return stream();
  if (path == "/api/run") return {.type = "application/json", .body = whole()};
  HttpResponse metrics = plain(200, metrics_text(*current_));
  metrics.type = "text/plain; version=0.0.4; charset=utf-8";
  return metrics;
}

// A page fetches the run and then listens: what came in between is in the newest messages; it knows by their times
// which rows it has.
HttpResponse Site::stream() {
  std::string text = "retry: 2000\n\n";
  for (const Body& message : recent_) text += *message;
  return {.type = "text/event-stream",
          .body = std::make_shared<const std::string>(std::move(text)),
          .stream = true};
}

// The run as it is now. Made anew only when there is something new, and never for more than a twentieth of our time;
// of texts that slow readers still hold there are few.
Body Site::whole() {
  std::erase_if(wholes_, [](const auto& text) { return text.expired(); });
  const double begin = clock_now();
  const bool enough = whole_ && begin - whole_made_ < std::max(0.5, 20 * whole_cost_);
  if (whole_ && (!news_ || enough || wholes_.size() >= most_wholes)) return whole_;
  whole_ = std::make_shared<const std::string>(report::run_json(kept_->data()));
  wholes_.push_back(whole_);
  whole_made_ = clock_now();
  whole_cost_ = whole_made_ - begin;
  news_ = false;
  return whole_;
}

void Site::open() {
  const RunReader reader(path_);
  const int64_t plan = plan_total(reader.plan_roles(), reader.plan());
  tail_.emplace(path_);
  const auto sessions = reader.sessions();
  const double session = sessions.size() > 1 ? sessions.back().time : -1;
  current_.emplace(reader.run(), reader.configuration(), session, plan, machine_memory().total);
  kept_.emplace(reader, run_name(path_));
}

// `data` is one line of JSON; empty: only a sign of life.
void Site::tell(std::string data) {
  last_told_ = clock_now();
  const auto message =
      std::make_shared<const std::string>(data.empty() ? ":\n\n" : fmt::format("data: {}\n\n", data));
  server_.broadcast(message);
  if (data.empty()) return;
  recent_.push_back(message);
  size_t bytes = 0;
  for (const Body& one : recent_) bytes += one->size();
  while (recent_.size() > most_recent || (bytes > most_recent_bytes && recent_.size() > 1)) {
    bytes -= recent_.front()->size();
    recent_.pop_front();
  }
}

void Site::read_news() {
  for (int i = 0; i < batches_per_look; ++i) {
    const RunTail::News news = tail_->next();
    if (news.rows == 0) return;
    news_ = true;
    current_->take(news);
    const report::RunData more = kept_->take(news);
    // A long record at the start is no news for anyone: a page gets it whole.
    if (server_.streams() || news.rows < 1000) tell(report::run_json(more, report::Extent::increment));
  }
}

// Often at first, then as the run grows: what a judgement costs grows with it too.
void Site::judge() {
  const double every = std::max(2.0, 0.01 * current_->time());
  const bool changed = current_->ended() != ended_told_;
  if (!changed && (!news_ || clock_now() - last_judged_ < every)) return;
  last_judged_ = clock_now();
  kept_->judge(current_->judgement(), double(current_->limit_bytes()));
  tell(report::run_json(kept_->data(), report::Extent::judgement));
  if (changed && current_->ended()) tell(R"({"end": true})");
  ended_told_ = current_->ended();
}

void Site::look() {
  if (path_.empty()) return;
  try {
    if (!tail_) open();
    read_news();
    if (!kept_->empty()) judge();
    trouble_.clear();
  } catch (const std::exception& error) {
    trouble_ = error.what();
  }
  if (clock_now() - last_told_ > silence_seconds) tell({});
}

void Site::finish() {
  for (int i = 0; i < 100 && tail_ && (i == 0 || news_); ++i) news_ = false, look();
  if (!ended_told_) tell(R"({"end": true})");
  server_.run(0.2);
}

}  // namespace

void serve_followed(const Listening& listening, const std::string& token, int control) {
  Site site(listening, token);
  std::filesystem::path to_remove;
  for (;;) {
    if (site.server().run(look_seconds, control)) {
      char message[4096];
      size_t size = 0;
      platform::receive(control, message, sizeof message, size);
      if (size <= 1) break;  // closed: the run is over
      const std::filesystem::path record(std::string(message + 1, size - 1));
      if (message[0] == '-') to_remove = record.parent_path();
      site.follow(record);
    }
    site.look();
  }
  site.finish();
  std::error_code ignored;
  if (!to_remove.empty()) std::filesystem::remove_all(to_remove, ignored);
}

void serve_record(const Listening& listening, const std::string& token, const std::filesystem::path& record,
                  int stop) {
  // A run file is empty until its tables are there, all at once: a run that begins just now is waited for.
  for (int looks = 0; looks < 100 && std::filesystem::file_size(record) == 0; ++looks)
    platform::sleep_seconds(0.05);
  RunReader check(record);  // refused before anything is served
  Site site(listening, token);
  site.follow(record);
  site.look();
  while (!site.server().run(look_seconds, stop)) site.look();
}

}  // namespace plimsoll::live
