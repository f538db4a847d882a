// SPDX-License-Identifier: Apache-2.0
// The index has its data as JSON, which a script of some lines puts into the table as text: nothing that a benchmark is called can become markup.
#include "cli/bench/bench_pages.h"

#include <random>

#include "cli/bench/bench_table.h"
#include "profile/profile_diff.h"
#include "sink/flamegraph/html.h"
#include "sink/flamegraph/svg_text.h"
#include "sink/json_stream.h"

namespace cicada::cli {
namespace {

constexpr size_t kSparkRounds = 80;

constexpr std::string_view kStyle = R"(:root{font:14px/1.5 system-ui,sans-serif;color-scheme:light dark}body{margin:0 auto;max-width:1200px;padding:24px}
h1{font-size:20px;margin:0}p{color:light-dark(#68738a,#949eb3);margin:2px 0 14px}.warning{margin:2px 0}input{font:inherit;width:320px;padding:6px 12px;border:1px solid light-dark(#e1e5ee,#2b3140);border-radius:8px;margin-bottom:12px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th{text-align:right;cursor:pointer;user-select:none;color:light-dark(#68738a,#949eb3);font-weight:600;white-space:nowrap}
td{text-align:right;border-top:1px solid light-dark(#e1e5ee,#2b3140);white-space:nowrap}th,td{padding:6px 10px}th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere}
a{color:light-dark(#3f63f0,#8aa2ff);text-decoration:none}a:hover{text-decoration:underline}tr:hover td{background:light-dark(#f7f8fb,#191d27)}small{color:light-dark(#68738a,#949eb3);display:block}
[aria-sort=ascending]::after{content:" ↑"}[aria-sort=descending]::after{content:" ↓"}svg{display:block}path{fill:none;stroke:light-dark(#3f63f0,#8aa2ff)})";

constexpr std::string_view kScript = R"(const data = JSON.parse(document.getElementById("data").textContent);
const time = (ns) => !ns ? "–" : ns < 1e3 ? ns.toFixed(1) + " ns" : ns < 1e6 ? (ns / 1e3).toFixed(2) + " µs" : ns < 1e9 ? (ns / 1e6).toFixed(2) + " ms" : (ns / 1e9).toFixed(3) + " s";
const percent = (share) => share === null ? "–" : (Math.floor(share * 10000) / 100).toFixed(2) + " %";
const columns = [["Benchmark", (b) => b.name], ["Median", (b) => b.median, time], ["95 % interval", (b) => b.high - b.low, (v, b) => b.high ? time(b.low) + " … " + time(b.high) : "–"],
  ["Rounds", (b) => b.rounds, String], ["CPU ÷ wall", (b) => b.cpu, (v) => v === null ? "–" : v.toFixed(2)], ["Samples", (b) => b.samples, String], ["Complete", (b) => b.complete, percent], ["Each round", null]];
let sorted = -1, up = true;
const body = document.querySelector("tbody"), head = document.querySelector("thead tr"), search = document.querySelector("input");
function spark(values) {
  const low = Math.min(...values), span = Math.max(...values) - low || 1, svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
  svg.setAttribute("width", 120); svg.setAttribute("height", 22);
  path.setAttribute("d", values.map((v, i) => (i ? "L" : "M") + (2 + 116 * i / Math.max(1, values.length - 1)).toFixed(1) + " " + (20 - 18 * (v - low) / span).toFixed(1)).join(""));
  svg.append(path);
  return svg;
}
function show() {
  const words = search.value.toLowerCase();
  const rows = data.filter((b) => (b.uri + b.name).toLowerCase().includes(words));
  if (sorted >= 0) rows.sort((a, b) => { const x = columns[sorted][1](a), y = columns[sorted][1](b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
  body.replaceChildren(...rows.map((b) => {
    const row = document.createElement("tr");
    for (const [title, value, text] of columns) {
      const cell = document.createElement("td");
      if (title === "Benchmark") {
        const link = document.createElement(b.page ? "a" : "span"), where = document.createElement("small");
        if (b.page) link.href = b.page;
        link.textContent = b.name;
        where.textContent = b.uri + (b.note ? " · " + b.note : "");
        cell.append(link, where);
      } else if (!value) { if (b.spark.length > 1) cell.append(spark(b.spark)); } else cell.textContent = text(value(b), b);
      row.append(cell);
    }
    return row;
  }));
}
columns.forEach(([title, value], i) => {
  const cell = document.createElement("th");
  cell.textContent = title;
  if (value) cell.onclick = () => { up = sorted === i ? !up : true; sorted = i; for (const other of head.children) other.removeAttribute("aria-sort"); cell.setAttribute("aria-sort", up ? "ascending" : "descending"); show(); };
  head.append(cell);
});
search.oninput = show;
show();)";

// Every n-th of many.
void write_spark(const benchmark::Benchmark& one, sink::JsonStream& json) {
  std::vector<double> all;
  for (const auto& run : one.times()) all.insert(all.end(), run.begin(), run.end());
  json.begin_array();
  const size_t step = std::max<size_t>(1, all.size() / kSparkRounds);
  for (size_t i = 0; i < all.size(); i += step) json.value(all[i]);
  json.end_array();
}

void write_row(const benchmark::Benchmark& one, sink::JsonStream& json) {
  const benchmark::Summary summary = one.summary();
  const benchmark::Interval interval = one.interval().value_or(benchmark::Interval{});
  double wall = 0, cpu = 0;
  uint64_t samples = 0, whole = 0, of = 0;
  bool ambiguous = false;
  for (const benchmark::BenchmarkRun& run : one.runs) {
    wall += run.wall_ns, cpu += run.cpu_ns, samples += run.samples, whole += run.whole_stacks, of += run.user_stacks;
    ambiguous |= run.ambiguous;
  }
  json.begin_object();
  json.member("name", one.name);
  json.member("uri", one.uri);
  json.member("page", one.page);
  json.member("median", summary.median);
  json.member("low", interval.low);
  json.member("high", interval.high);
  json.member("rounds", summary.count);
  json.member("samples", samples);
  json.key("cpu");
  wall > 0 && cpu > 0 ? json.value(cpu / wall) : json.null();
  json.key("complete");
  of > 0 ? json.value(static_cast<double>(whole) / static_cast<double>(of)) : json.null();
  std::string note = one.source == benchmark::Source::kClient ? "times by " + one.creator : one.source == benchmark::Source::kWindows ? "times from Start to Stop" : "";
  if (ambiguous) note += (note.empty() ? "" : ", ") + std::string("ran while another of its process did, or of one above or below it");
  json.member("note", note);
  json.key("spark");
  write_spark(one, json);
  json.end_object();
}

}  // namespace

Result<void> write_text(const std::string& path, const sink::FileRights& rights, std::string_view text) {
  sink::OutputFile file = TRY(sink::OutputFile::create(path, rights));
  file.write(text);
  return file.commit();
}

Result<void> write_flame_graph(const std::string& path, const sink::FileRights& rights, const profile::Profile& profile, const std::string& title) {
  std::vector<uint32_t> leaf;
  const profile::CallTree tree = profile::build_call_tree(profile, {}, &leaf);
  std::string text;
  sink::append_report_html(profile, tree, leaf, sink::make_caption(profile, title), text);
  return write_text(path, rights, text);
}

Result<void> write_difference(const std::string& path, const sink::FileRights& rights, const profile::Profile& before, const profile::Profile& after, const std::string& title) {
  profile::DiffOptions how;
  if (before.header.runs != 0 && after.header.runs != 0) how.per = profile::Per::kRun;
  const profile::ProfileDiff diff = profile::diff(before, after, how);
  sink::Baseline baseline;
  for (const profile::DiffValue& value : diff.self) baseline.self.push_back(value.a);
  for (const profile::DiffValue& value : diff.total) baseline.total.push_back(value.a);
  std::string text;
  sink::append_diff_report_html(diff.tree, baseline, sink::make_caption(after, title), text);
  return write_text(path, rights, text);
}

std::string index_page(const benchmark::BenchResult& result, const std::string& title) {
  std::random_device entropy;
  const std::string nonce = fmt::format("{:08x}{:08x}{:08x}{:08x}", entropy(), entropy(), entropy(), entropy());
  std::string rows;
  {
    sink::JsonStream json([&](std::string_view text) { rows += text; });
    json.begin_array();
    for (const benchmark::Benchmark& one : result.benchmarks) write_row(one, json);
    json.end_array();
  }
  std::string host, warnings;
  for (const auto& [key, value] : result.host) host += fmt::format("{}{} {}", host.empty() ? "" : " · ", key, value);
  for (const std::string& warning : result.warnings) warnings += fmt::format("<p class=\"warning\">⚠ {}</p>", sink::xml_text(warning));
  std::string compared;
  for (const benchmark::Compared& one : result.comparisons) {
    const std::string text = sink::xml_text(fmt::format("{} ÷ {}: {:.3f} ({}): {}", one.now, one.base, one.ratio.value, interval_text(one.ratio), one.verdict));
    compared += fmt::format("<p class=\"compared\"><a href=\"{}\">{}</a></p>", sink::xml_text(one.page), text);
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{0}'; "
      "style-src 'nonce-{0}'; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>{1}</title>\n<style nonce=\"{0}\">{2}</style>\n"
      "</head>\n<body>\n<h1>{1}</h1>\n<p>{3}</p>\n{4}{7}<input type=\"search\" placeholder=\"Search benchmarks\" aria-label=\"Search benchmarks\">\n"
      "<table><thead><tr></tr></thead><tbody></tbody></table>\n<script type=\"application/json\" id=\"data\">{5}</script>\n<script nonce=\"{0}\">{6}</script>\n</body>\n</html>\n",
      nonce, sink::xml_text(title), kStyle, sink::xml_text(host), warnings, rows, kScript, compared);
}

}  // namespace cicada::cli
