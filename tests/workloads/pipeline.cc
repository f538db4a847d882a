// SPDX-License-Identifier: Apache-2.0
// A real multi-threaded C++ program: producers make texts, workers count words and sort, a consumer merges. Ends by
// itself.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "workload.h"

namespace pipeline {

template <typename T>
class Queue {
 public:
  NOINLINE void push(T value) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [&] { return values_.size() < 64 || closed_; });
    values_.push_back(std::move(value));
    not_empty_.notify_one();
  }
  NOINLINE bool pop(T& value) {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [&] { return !values_.empty() || closed_; });
    if (values_.empty()) return false;
    value = std::move(values_.front());
    values_.pop_front();
    not_full_.notify_one();
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_, not_full_;
  std::deque<T> values_;
  bool closed_ = false;
};

using Counts = std::unordered_map<std::string, int>;

NOINLINE std::string make_text(std::mt19937& random) {
  std::string text;
  for (int i = 0; i < 2000; i++) text += "word" + std::to_string(random() % 500) + ' ';
  return text;
}

NOINLINE std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0, end; (end = text.find(' ', begin)) != std::string::npos; begin = end + 1)
    words.push_back(text.substr(begin, end - begin));
  return words;
}

NOINLINE Counts count_words(const std::string& text) {
  std::vector<std::string> words = split_words(text);
  std::sort(words.begin(), words.end());
  Counts counts;
  for (const std::string& word : words) counts[word]++;
  return counts;
}

NOINLINE void produce(Queue<std::string>& texts, unsigned seed) {
  std::mt19937 random(seed);
  while (running()) texts.push(make_text(random));
}

NOINLINE void work(Queue<std::string>& texts, Queue<Counts>& results) {
  for (std::string text; texts.pop(text);) results.push(count_words(text));
}

NOINLINE void merge(Queue<Counts>& results, Counts& total) {
  for (Counts counts; results.pop(counts);)
    for (const auto& [word, count] : counts) total[word] += count;
}

}  // namespace pipeline

int main(int argc, char** argv) {
  using namespace pipeline;
  begin(argc, argv);
  puts("order ~pipeline::produce\\(.*;~pipeline::make_text.*");
  puts("order ~pipeline::work\\(.*;~pipeline::count_words\\(.*");
  puts("complete");
  Queue<std::string> texts;
  Queue<Counts> results;
  Counts total;
  std::vector<std::thread> producers, workers;
  for (unsigned i = 0; i < 2; i++) producers.emplace_back([&, i] { produce(texts, i); });
  for (int i = 0; i < 2; i++) workers.emplace_back([&] { work(texts, results); });
  std::thread consumer([&] { merge(results, total); });
  for (std::thread& thread : producers) thread.join();
  texts.close();
  for (std::thread& thread : workers) thread.join();
  results.close();
  consumer.join();
  printf("# %zu different words\n", total.size());
}
