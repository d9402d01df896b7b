// What a window sends, as the worker's main thread reads it.
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/protocol_version.h"
#include "app/worker/command_reader.h"
#include "tests/fuzz/frame_mutator.h"

namespace fuzz {

std::vector<std::string> seeds() {
  app::wire::Frame hello;
  hello.mutable_hello()->set_protocol_version(app::protocol_version());
  app::wire::Frame run;
  *run.mutable_order() = app::to_wire({.id = 1, .task = engine::RunRequest()});
  std::vector<std::string> streams = {stream_of({hello, run})};
  for (unsigned seed = 0; seed < 2; ++seed) {
    for (const app::wire::Frame& frame : random_frames(100 * seed)) {
      streams.push_back(stream_of({hello, frame, run}));
    }
  }
  return streams;
}

std::vector<std::string> dictionary() { return frame_dictionary(); }

}  // namespace fuzz

namespace {

int open_or_die(int descriptor) {
  fuzz::require(descriptor >= 0, "a descriptor can be had");
  return descriptor;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size,
                                               std::size_t capacity, unsigned int seed) {
  return fuzz::mutate_frames(bytes, size, capacity, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  // The readings have a thread, which idles; that of the files ends with every input.
  static engine::RunProgress progress;
  static app::IdleReadings readings(progress, {});
  static const int pipe_in = open_or_die(::memfd_create("commands", MFD_CLOEXEC));
  static const int pipe_out = open_or_die(::memfd_create("answers", MFD_CLOEXEC));
  spdlog::set_level(spdlog::level::off);
  const auto whole = static_cast<ssize_t>(size);
  fuzz::require(::ftruncate(pipe_in, 0) == 0 && ::pwrite(pipe_in, bytes, size, 0) == whole &&
                    ::lseek(pipe_in, 0, SEEK_SET) == 0 && ::ftruncate(pipe_out, 0) == 0 &&
                    ::lseek(pipe_out, 0, SEEK_SET) == 0,
                "the commands can be written");
  {
    const fuzz::CostLimit limit(size);
    app::FrameSender sender{app::UniqueFd(open_or_die(::dup(pipe_out)))};
    app::OrderSlot orders(progress);
    app::FileQuestions files(
        [&](const app::FileReport& report) { static_cast<void>(sender.report(report).ok()); });
    app::NewestPing ping;
    app::CommandReader reader(pipe_in, sender, orders, files, readings, ping);
    reader.backends_ready({});
    const int code = reader.read_until_end();
    fuzz::require(code == 0 || code == app::kExitRefused || code == app::kExitMalformed,
                  "a stream of commands ends in a known way");
    fuzz::count(code == 0);
  }
  // Whatever came in, what goes out is frames.
  fuzz::require(::lseek(pipe_out, 0, SEEK_SET) == 0, "the answers can be read");
  app::FrameDecoder answers;
  while (true) {
    const auto frame = app::read_frame(pipe_out, answers);
    fuzz::require(frame.ok(), "a worker answers in frames",
                  frame.ok() ? "" : frame.error().message);
    if (!frame.value()) break;
  }
  return 0;
}
