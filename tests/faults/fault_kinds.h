// Every fault the campaign injects: one table from which the faulty worker acts, the storms choose
// and know what to expect, and counts are keyed. `faulty_worker --list` prints it.
//
// Unrequested frames of a worker breach the protocol, and end it.
#pragma once

#include <array>
#include <csignal>
#include <string_view>

namespace app::testing {

/// What must be observed of a fault within two seconds.
enum class Expect {
  Lost,         // the worker's end, with a reason
  Stalled,      // silence, with a reason
  Lives,        // nothing: the next order is answered as if the fault had not happened
  LostOrLives,  // depends on what the bytes happen to mean; nothing in between
  Waits,        // an order without an answer: the caller stays free, and can give up
  Shown,        // the answer arrives, and a window displays it; then as Lives
};
inline constexpr std::array<std::string_view, 6> kExpectNames = {
    "lost", "stalled", "lives", "lost-or-lives", "waits", "shown"};

/// Who commits a fault, and when.
enum class Moment {
  Start,   // the worker, before it greets or while it does
  Order,   // the worker, when an order arrives
  Signal,  // an outside process: the signal `number` at a random moment
  Caller,  // the link's own caller, at a random moment
};
inline constexpr std::array<std::string_view, 4> kMomentNames = {"start", "order", "signal",
                                                                 "caller"};

struct FaultKind {
  std::string_view name;
  Moment moment;
  Expect expect;
  int weight;  // relative frequency
  std::string_view what;
  int number = 0;
};

inline constexpr FaultKind kFaultKinds[] = {
    // Exits.
    {"exit-at-start", Moment::Start, Expect::Lost, 8, "exits with a random code before it greets"},
    {"signal-at-start", Moment::Start, Expect::Lost, 8, "raises a fatal signal at its start"},
    {"exit-code", Moment::Order, Expect::Lost, 10, "exits with a random code instead of answering"},
    {"own-signal", Moment::Order, Expect::Lost, 10, "raises a fatal signal"},
    {"exit-in-answer", Moment::Order, Expect::Lost, 10, "exits in the middle of an answer's frame"},
    {"close-output", Moment::Order, Expect::Lost, 6, "closes its output and stays"},
    {"close-everything", Moment::Order, Expect::Lost, 6, "closes all its descriptors and stays"},
    // Greetings.
    {"wrong-version", Moment::Start, Expect::Lost, 6, "speaks another version of the protocol"},
    {"refuses", Moment::Start, Expect::Lost, 4, "refuses the window, with a long reason"},
    {"greets-twice", Moment::Start, Expect::Lost, 4, "greets again, and again"},
    {"hostile-greeting", Moment::Start, Expect::LostOrLives, 8,
     "greets with extreme values in every field"},
    {"dripped-greeting", Moment::Start, Expect::Lives, 4, "greets one byte at a time"},
    {"mute", Moment::Start, Expect::Waits, 2, "reads nothing and says nothing"},
    {"greets-never", Moment::Start, Expect::Waits, 2, "pulses, but does not greet"},
    // Bytes.
    {"garbage", Moment::Order, Expect::Lost, 12, "writes random bytes between frames"},
    {"mutated-frame", Moment::Order, Expect::LostOrLives, 30,
     "writes an answer with bits flipped, bytes lost or repeated"},
    {"cut-frame", Moment::Order, Expect::Stalled, 8, "stops in the middle of a frame"},
    {"huge-length", Moment::Order, Expect::Lost, 6, "announces a frame beyond the limit"},
    {"long-length", Moment::Order, Expect::Stalled, 4, "announces 200 MB and sends nothing"},
    {"swallowing-length", Moment::Order, Expect::Waits, 2,
     "announces 200 MB, and its pulses continue as part of them"},
    {"unknown-body", Moment::Order, Expect::Lost, 4, "sends a frame of an unknown kind"},
    {"empty-frames", Moment::Order, Expect::Lost, 4, "sends frames without a body"},
    {"wrong-direction", Moment::Order, Expect::Lost, 4, "sends an order to the window"},
    {"deep-nesting", Moment::Order, Expect::Lost, 6, "nests groups ten thousand deep"},
    // Values.
    {"hostile-numbers", Moment::Order, Expect::LostOrLives, 40,
     "extreme values in every number of a message"},
    {"hostile-field", Moment::Order, Expect::LostOrLives, 60,
     "one or a few extreme values in an otherwise valid message"},
    {"hostile-enums", Moment::Order, Expect::LostOrLives, 30, "enumerators that do not exist"},
    {"hostile-lengths", Moment::Order, Expect::LostOrLives, 40,
     "lists that should have equal length and do not"},
    {"hostile-text", Moment::Order, Expect::LostOrLives, 10,
     "texts of a megabyte, control characters, right-to-left marks"},
    {"hostile-result", Moment::Order, Expect::Shown, 40,
     "a result with the most extreme values that are let in, in every field"},
    // Floods, read or unread.
    {"flood-answers", Moment::Order, Expect::Lost, 6, "hundreds of unrequested answers"},
    {"flood-failures", Moment::Order, Expect::Lost, 6, "thousands of unrequested failures"},
    {"flood-files", Moment::Order, Expect::Lost, 6, "thousands of unrequested file reports"},
    {"flood-rows", Moment::Order, Expect::Lost, 6, "thousands of rows without a benchmark"},
    {"flood-pulses", Moment::Order, Expect::Lives, 6, "thousands of pulses"},
    {"flood-greetings", Moment::Order, Expect::Lost, 4, "thousands of greetings"},
    {"flood-records", Moment::Order, Expect::Lost, 6, "records of runs that were not ordered"},
    {"flood-lines", Moment::Order, Expect::Lives, 6, "thousands of log lines"},
    {"endless-line", Moment::Order, Expect::Lives, 4, "a log line of megabytes"},
    {"great-flood", Moment::Order, Expect::LostOrLives, 1,
     "200 MB of any of these at once, unread"},
    {"owed-flood", Moment::Order, Expect::Lives, 1,
     "half a million rows that were ordered, unread"},
    // Pace.
    {"dripped-answer", Moment::Order, Expect::Lives, 6, "answers one byte at a time"},
    {"dripped-line", Moment::Order, Expect::Lives, 4, "logs one byte at a time"},
    {"late-answer", Moment::Order, Expect::Lives, 4, "answers after up to a second, pulsing"},
    // Order.
    {"answers-twice", Moment::Order, Expect::Lost, 20, "gives the same answer again"},
    {"answers-another", Moment::Order, Expect::Lost, 20, "answers orders that were never given"},
    {"answers-old", Moment::Order, Expect::Lost, 10, "answers an order that was answered before"},
    {"answers-early", Moment::Order, Expect::Lost, 10, "answers the next order before it is given"},
    {"answers-reversed", Moment::Order, Expect::Lives, 10, "answers two orders in reverse"},
    {"fails-and-finishes", Moment::Order, Expect::Lost, 10, "answers with a failure and a result"},
    {"answers-after-end", Moment::Order, Expect::Lost, 6,
     "ends, and a child of it writes an answer"},
    // Silence.
    {"no-pulse", Moment::Order, Expect::Stalled, 8, "falls silent"},
    {"stops-itself", Moment::Order, Expect::Stalled, 6, "raises SIGSTOP"},
    {"stuck", Moment::Order, Expect::Waits, 2, "pulses, never answers, ignores a cancel"},
    {"deaf", Moment::Order, Expect::Waits, 2, "pulses, and never reads its input again"},
    // Descendants.
    {"child-keeps-pipes", Moment::Order, Expect::Lost, 8,
     "ends and leaves a child that holds its pipes"},
    {"child-stops", Moment::Order, Expect::Lost, 4, "ends and leaves a stopped child"},
    {"child-leaves", Moment::Order, Expect::Lost, 6,
     "ends and leaves a child that holds its pipes in a separate session"},
    {"child-talks", Moment::Order, Expect::Lost, 4,
     "ends and leaves a child that keeps writing frames"},
    {"many-children", Moment::Order, Expect::Lost, 4, "crashes and leaves twenty children"},
    // Signals from outside.
    {"signal-kill", Moment::Signal, Expect::Lost, 20, "SIGKILL", SIGKILL},
    {"signal-term", Moment::Signal, Expect::Lost, 12, "SIGTERM", SIGTERM},
    {"signal-segv", Moment::Signal, Expect::Lost, 12, "SIGSEGV", SIGSEGV},
    {"signal-abrt", Moment::Signal, Expect::Lost, 8, "SIGABRT", SIGABRT},
    {"signal-bus", Moment::Signal, Expect::Lost, 4, "SIGBUS", SIGBUS},
    {"signal-int", Moment::Signal, Expect::Lost, 4, "SIGINT", SIGINT},
    {"signal-hup", Moment::Signal, Expect::Lost, 4, "SIGHUP", SIGHUP},
    {"signal-usr1", Moment::Signal, Expect::Lost, 4, "SIGUSR1", SIGUSR1},
    {"signal-xfsz", Moment::Signal, Expect::Lost, 4, "SIGXFSZ", SIGXFSZ},
    {"signal-stop", Moment::Signal, Expect::Stalled, 8, "SIGSTOP", SIGSTOP},
    {"signal-cont", Moment::Signal, Expect::Lives, 8, "SIGSTOP, then SIGCONT", SIGCONT},
    // The caller's own actions.
    {"caller-kills", Moment::Caller, Expect::Lost, 12, "the caller kills the worker"},
    {"caller-leaves", Moment::Caller, Expect::Lost, 12, "the caller drops the link"},
    {"caller-cancels", Moment::Caller, Expect::Lives, 12, "cancels and orders in any sequence"},
};

/// Rows of an owed flood.
inline constexpr int kOwedRows = 500'000;

constexpr const FaultKind* find_kind(std::string_view name) {
  for (const FaultKind& kind : kFaultKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace app::testing
