// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/page_feed.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/byte_cursor.h"
#include "profile/growing_profile_for_test.h"
#include "profile/stack_totals.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/gzip.h"

namespace cicada::sink {
namespace {

using Json = nlohmann::json;
using profile::selfs;

std::vector<uint8_t> from_base64(std::string_view text) {
  std::vector<uint8_t> bytes;
  uint32_t bits = 0, count = 0;
  for (const char letter : text) {
    const size_t digit = std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(letter);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if ((count += 6) >= 8) bytes.push_back(static_cast<uint8_t>(bits >> (count -= 8)));
  }
  return bytes;
}

// What a browser does with messages.
struct Page {
  std::string id;
  Json names = Json::array(), frames = Json::array(), about = {};
  std::map<size_t, Json> threads, processes;
  std::vector<uint32_t> parents, frame_of_node;
  std::map<uint64_t, uint64_t> node_of_leaf;
  struct Row {
    uint64_t time, thread, leaf, value, cpu, state;
  };
  std::vector<Row> rows;
  uint64_t first_row = 0;
  size_t bytes = 0, times_anew = 0;

  // False: there is nothing new.
  bool take(PageFeed& feed) {
    const auto message = feed.since(id);
    if (!message) return false;
    id = message->id;
    bytes = message->data.size();
    EXPECT_EQ(message->data.find('\n'), std::string::npos);
    about = Json::parse(message->data);
    EXPECT_EQ(about["live"], id);
    const auto compressed = from_base64(about["payload"].get<std::string>());
    const std::vector<uint8_t> payload = *gunzip(compressed, 100 << 20);
    ByteCursor cursor(payload);
    const Bytes text = cursor.take(cursor.u32());
    const Json tables = Json::parse(text.begin(), text.end());
    if (tables["anew"]) {
      Page begun;
      begun.id = id;
      begun.about = about;
      begun.bytes = bytes;
      begun.times_anew = times_anew + 1;
      *this = std::move(begun);
    }
    EXPECT_EQ(tables["first"][0].get<size_t>(), names.empty() ? 0 : names.size());
    EXPECT_EQ(tables["first"][1].get<size_t>(), frames.size() / 4);
    EXPECT_EQ(tables["first"][2].get<size_t>(), parents.size());
    for (const Json& name : tables["names"]) names.push_back(name);
    for (const Json& number : tables["frames"]) frames.push_back(number);
    for (const Json& row : tables["threads"]) threads[row[0]] = row[1];
    for (const Json& row : tables["processes"]) processes[row[0]] = row[1];
    for (uint64_t n = cursor.uleb128(); n-- > 0;) {
      parents.push_back(static_cast<uint32_t>(parents.size() - cursor.uleb128()));
      frame_of_node.push_back(static_cast<uint32_t>(cursor.uleb128()));
    }
    uint64_t leaf = 0;
    for (uint64_t n = cursor.uleb128(); n-- > 0;) {
      leaf += cursor.uleb128();
      node_of_leaf[leaf] = cursor.uleb128();
    }
    const uint64_t first = tables["first"][3], dropped = tables["dropped"];
    if (rows.empty()) first_row = first;
    EXPECT_LE(first_row + rows.size(), first);  // less: all of them were dropped
    if (first_row + rows.size() < first) rows.clear(), first_row = first;
    const uint64_t n = cursor.uleb128();
    uint64_t time = cursor.uleb128();
    for (uint64_t i = 0; i < n; ++i) {
      Row row{};
      const uint64_t zigzag = cursor.uleb128();
      row.time = time += (zigzag & 1) != 0 ? ~(zigzag >> 1) : zigzag >> 1;
      row.thread = cursor.uleb128();
      row.leaf = cursor.uleb128();
      row.value = cursor.uleb128();
      row.cpu = cursor.uleb128();
      if (tables["states"]) row.state = cursor.uleb128();
      rows.push_back(row);
    }
    EXPECT_FALSE(cursor.failed());
    EXPECT_EQ(cursor.position(), payload.size());
    while (first_row < dropped && !rows.empty()) rows.erase(rows.begin()), ++first_row;
    return true;
  }

  std::map<std::string, uint64_t> selfs() const {
    std::vector<std::string> paths(parents.size());
    for (size_t i = 1; i < parents.size(); ++i) paths[i] = paths[parents[i]] + ";" + names[frames[4 * frame_of_node[i]].get<size_t>()].get<std::string>();
    std::map<std::string, uint64_t> out;
    for (const Row& row : rows) out[paths[node_of_leaf.at(row.leaf)]] += row.value;
    out.erase("");
    return out;
  }
};

// One page is there from the beginning, one comes late, one looks now and then: each has what the profile has.
TEST(PageFeed, GivesEveryPageWhatTheProfileHas) {
  for (const uint8_t event : {uint8_t{0}, uint8_t{1}}) {
    profile::Growing growing(event + 3);
    PageFeed feed({.event = profile::EventId{event}}, "x");
    Page first, late, seldom;
    for (int step = 0; step < 60; ++step) {
      growing.step();
      feed.update(growing.profile);
      ASSERT_TRUE(first.take(feed));
      EXPECT_FALSE(first.take(feed));
      if (step > 30) late.take(feed);
      if (step % 7 == 6) seldom.take(feed);
      if (growing.profile.samples().dropped() == 0) {
        const auto truth = selfs(profile::build_call_tree(growing.profile, {.event = profile::EventId{event}}));
        ASSERT_EQ(first.selfs(), truth) << step;
        ASSERT_EQ(step > 30 ? late.selfs() : truth, truth) << step;
        ASSERT_EQ(step % 7 == 6 ? seldom.selfs() : truth, truth) << step;
      }
    }
    ASSERT_GT(growing.profile.samples().dropped(), 0U);
    Page now;
    now.take(feed);
    seldom.take(feed);
    for (Page* page : {&first, &late, &seldom}) {
      EXPECT_EQ(page->selfs(), now.selfs());
      EXPECT_EQ(page->threads, now.threads);
      EXPECT_EQ(page->processes, now.processes);
      EXPECT_EQ(page->rows.size(), now.rows.size());
      for (size_t i = 0; i < now.rows.size(); ++i) ASSERT_EQ(page->rows[i].time, now.rows[i].time);
    }
    // Of what was dropped they have one update more at most.
    uint64_t kept = 0, more = 0;
    for (const auto& [path, value] : selfs(profile::build_call_tree(growing.profile, {.event = profile::EventId{event}}))) kept += value;
    for (const auto& [path, value] : now.selfs()) more += value;
    EXPECT_GE(more, kept);
    EXPECT_LE(more, kept + 400 * 3);
  }
}

TEST(PageFeed, BeginsAnewWithAnotherProfileOrForAnotherPage) {
  profile::Growing one(1), other(2);
  for (int i = 0; i < 5; ++i) one.step(), other.step();
  PageFeed feed({.event = profile::EventId{}}, "x");
  Page page;
  feed.update(one.profile);
  page.take(feed);
  EXPECT_EQ(page.times_anew, 1U);
  feed.update(other.profile);
  page.take(feed);
  EXPECT_EQ(page.times_anew, 2U);
  EXPECT_EQ(page.selfs(), selfs(profile::build_call_tree(other.profile, {.event = profile::EventId{}})));
  for (const char* id : {"1.1.1", "x", "", "99999999999999999999.1.1", "1.1.99999999999999999999999999"}) {
    Page stranger;
    stranger.id = id;
    stranger.take(feed);
    EXPECT_EQ(stranger.times_anew, 1U) << id;
    EXPECT_EQ(stranger.selfs(), page.selfs());
  }
}

// Of waits each sample says in which state it was.
TEST(PageFeed, SendsStatesOfWaits) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 1});
  profile.header.events = {{.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting}};
  const profile::Sample one = profile.sample(0);
  const std::vector<std::string> waited{"lock", "disk", "", "lock", "sleep"};
  PageFeed feed({.event = profile::EventId{}}, "x");
  Page page;
  for (size_t i = 0; i < waited.size(); ++i) {
    profile::Sample sample = one;
    const profile::Label label{profile.intern(profile::kStateLabel), profile.intern(waited[i])};
    if (!waited[i].empty()) sample.labels = profile.intern_labels({&label, 1});
    profile.append_sample(sample);
    feed.update(profile);
    page.take(feed);
  }
  ASSERT_EQ(page.rows.size(), waited.size() + 1);
  for (size_t i = 0; i < waited.size(); ++i) {
    const uint64_t state = page.rows[i + 1].state;
    EXPECT_EQ(state == 0 ? "" : page.about["states"][state - 1]["name"].get<std::string>(), waited[i]) << i;
  }
}

TEST(PageFeed, SaysSoWhereNothingWasRecordedYet) {
  PageFeed feed({}, "x");
  EXPECT_EQ(feed.since(""), nullptr);
  feed.update(profile::Profile());
  Page page;
  ASSERT_TRUE(page.take(feed));
  EXPECT_TRUE(page.rows.empty());
  EXPECT_EQ(page.parents.size(), 1U);
}

// What comes late has its time, for who sees it come and for who comes later.
TEST(PageFeed, SendsTimesAsTheyAre) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 1});
  profile.header.start_monotonic_ns = 1'000'000'000;
  const profile::Sample one = profile.sample(0);
  std::vector<uint64_t> seconds{5, 2, 9, 3, 1, 0, 7};
  PageFeed feed({.event = profile::EventId{}}, "x");
  Page page, late;
  for (const uint64_t second : seconds) {
    profile::Sample sample = one;
    sample.time_ns = profile.header.start_monotonic_ns + second * 1'000'000'000;
    profile.append_sample(sample);
    feed.update(profile);
    page.take(feed);
  }
  late.take(feed);
  for (const Page* of : {&page, &late}) {
    ASSERT_EQ(of->rows.size(), seconds.size() + 1);
    for (size_t i = 0; i < seconds.size(); ++i) EXPECT_EQ(of->rows[i + 1].time, seconds[i] * 1'000'000) << i;
  }
}

// What is sent in a second costs what is new.
TEST(PageFeed, SendsWhatIsNew) {
  profile::Growing growing(5);
  PageFeed feed({.event = profile::EventId{}}, "x");
  for (int i = 0; i < 25; ++i) growing.step();
  feed.update(growing.profile);
  Page page, other;
  page.take(feed);
  const size_t whole = page.bytes;
  growing.profile.append_sample(growing.profile.sample(0));
  feed.update(growing.profile);
  const auto message = feed.since(page.id);
  other.id = page.id;
  EXPECT_EQ(feed.since(other.id), message);  // made once for both
  page.take(feed);
  EXPECT_LT(page.bytes, whole / 4);
}

}  // namespace
}  // namespace cicada::sink
