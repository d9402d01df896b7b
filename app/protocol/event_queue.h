// Events from a worker that have not been taken yet, in order and bounded. Answers to orders are
// never dropped: while they exceed kMaxAnswerBytes the link stops reading, and the worker blocks on
// its pipe. Log lines are dropped, oldest first, and counted. Not thread-safe: the link's lock
// guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "app/protocol/worker_link.h"

namespace app {

class EventQueue {
 public:
  // Unordered data, even with one frame of the largest kind still being received, stays within 64
  // MiB.
  static constexpr std::size_t kMaxAnswerBytes = std::size_t{32} << 20;
  static constexpr std::size_t kMaxLogBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMaxLogs = 1000;

  /// `wire_bytes` is the size of its frame; in memory it is assumed to take twice as much.
  void put_answer(LinkEvent event, std::size_t wire_bytes) {
    const std::size_t cost = sizeof(Answer) + 2 * wire_bytes;
    answer_bytes_ += cost;
    answers_.push_back({.number = ++last_, .event = std::move(event)});
  }
  void put_log(LogReport log) {
    log_bytes_ += cost_of(log);
    logs_.push_back({.number = ++last_, .log = std::move(log)});
    while (logs_.size() > kMaxLogs || log_bytes_ > kMaxLogBytes) {
      log_bytes_ -= cost_of(logs_.front().log);
      logs_.pop_front();
      ++dropped_;
    }
  }
  /// The consumer of answers is behind.
  bool full() const { return answer_bytes_ > kMaxAnswerBytes; }
  /// Log lines dropped since the start.
  std::uint64_t dropped() const { return dropped_; }

  std::vector<LinkEvent> take() {
    std::vector<LinkEvent> events;
    events.reserve(answers_.size() + logs_.size());
    auto log = logs_.begin();
    const auto take_logs_before = [&](std::uint64_t number) {
      for (; log != logs_.end() && log->number < number; ++log) {
        events.emplace_back(std::move(log->log));
      }
    };
    for (Answer& answer : answers_) {
      take_logs_before(answer.number);
      events.push_back(std::move(answer.event));
    }
    take_logs_before(last_ + 1);
    answers_.clear();
    logs_.clear();
    answer_bytes_ = 0;
    log_bytes_ = 0;
    return events;
  }

 private:
  struct Answer {
    std::uint64_t number = 0;  // counts all puts: gives the order between the two kinds
    LinkEvent event;
  };
  struct Log {
    std::uint64_t number = 0;
    LogReport log;
  };
  static std::size_t cost_of(const LogReport& log) { return sizeof(Log) + log.text.size(); }

  std::deque<Answer> answers_;
  std::deque<Log> logs_;
  std::size_t answer_bytes_ = 0;
  std::size_t log_bytes_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace app
