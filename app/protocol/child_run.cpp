#include "app/protocol/child_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "app/protocol/child_process.h"
#include "app/protocol/descriptor.h"
#include "engine/model/broken_pipe.h"

namespace app {
namespace {

constexpr int kPollMs = 20;
constexpr std::size_t kMaxOutput = std::size_t{1} << 20;
constexpr std::size_t kMaxErrors = std::size_t{16} << 10;
constexpr std::size_t kChunk = std::size_t{64} << 10;

/// What has not been written of the input yet.
class Input {
 public:
  Input(const ChildRun& run, UniqueFd& pipe) : run_(run), pipe_(pipe), held_(run.input) {
    if (held_.empty() && run.input_file < 0) pipe_.reset();
  }
  int descriptor() const { return pipe_.get(); }
  void write_some() {
    if (held_.empty() && !read_more()) return pipe_.reset();
    const ssize_t count = ::write(pipe_.get(), held_.data(), held_.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) return pipe_.reset();
    held_.remove_prefix(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
    if (run_.sent) run_.sent(written_);
    if (held_.empty() && run_.input_file < 0) pipe_.reset();
  }

 private:
  bool read_more() {
    if (run_.input_file < 0) return false;
    const ssize_t count = ::read(run_.input_file, chunk_.data(), chunk_.size());
    if (count <= 0) return false;
    held_ = {chunk_.data(), static_cast<std::size_t>(count)};
    return true;
  }

  const ChildRun& run_;
  UniqueFd& pipe_;
  std::string_view held_;
  std::uint64_t written_ = 0;
  std::array<char, kChunk> chunk_;
};

/// The file that takes a program's output.
class OutputFile {
 public:
  explicit OutputFile(const ChildRun& run) : run_(run) {}
  bool is_there() const { return run_.output_file >= 0; }
  /// Why it takes no more; empty = it does.
  const std::string& refusal() const { return refusal_; }
  void write(std::string_view bytes) {
    written_ += bytes.size();
    if (written_ > run_.output_limit) {
      refusal_ = "more arrived than was announced";
      return;
    }
    while (!bytes.empty() && refusal_.empty()) {
      const ssize_t count = ::write(run_.output_file, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        refusal_ = std::string("what arrived cannot be written: ") + std::strerror(errno);
      } else {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      }
    }
    if (run_.received && refusal_.empty()) run_.received(written_);
  }

 private:
  const ChildRun& run_;
  std::uint64_t written_ = 0;
  std::string refusal_;
};

/// One stream of the program: to a file, lines to their receiver, or text to where it is collected.
class Output {
 public:
  Output(int descriptor, const std::function<void(const std::string&)>& line,
         OutputFile* file = nullptr)
      : descriptor_(descriptor), line_(line), file_(file) {}
  int descriptor() const { return descriptor_; }
  void read_some() {
    std::array<char, kChunk> bytes;
    const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      descriptor_ = -1;
      return;
    }
    const std::string_view some(bytes.data(), static_cast<std::size_t>(count));
    if (file_ != nullptr && file_->is_there()) {
      file_->write(some);
    } else if (line_) {
      for (const std::string& one : splitter_.append(some)) line_(one);
    } else {
      text_ += some;
    }
  }
  void finish() {
    if (!line_) return;
    if (const std::string rest = splitter_.rest(); !rest.empty()) line_(rest);
  }
  std::string& text() { return text_; }

 private:
  int descriptor_;
  const std::function<void(const std::string&)>& line_;
  OutputFile* file_;
  LineSplitter splitter_;
  std::string text_;
};

}  // namespace

engine::Result<std::optional<ChildEnd>> run_child(const ChildRun& run) {
  const engine::NoBrokenPipeSignal blocked;
  ENGINE_ASSIGN(const std::unique_ptr<ChildProcess> child, ChildProcess::start(run.argv));
  const auto input = std::make_unique<Input>(run, child->input);
  OutputFile file(run);
  Output output(child->output.get(), run.output_line, &file);
  Output errors(child->errors.get(), run.error_line);
  const auto pass_on = [&](int milliseconds) {
    std::array<pollfd, 3> pipes = {{{input->descriptor(), POLLOUT, 0},
                                    {output.descriptor(), POLLIN, 0},
                                    {errors.descriptor(), POLLIN, 0}}};
    if (::poll(pipes.data(), pipes.size(), milliseconds) <= 0) return false;
    if (pipes[0].revents != 0) input->write_some();
    if (pipes[1].revents != 0) output.read_some();
    if (pipes[2].revents != 0) errors.read_some();
    if (output.text().size() > kMaxOutput) output.text().resize(kMaxOutput);
    if (errors.text().size() > kMaxErrors) {
      errors.text().erase(0, errors.text().size() - kMaxErrors);
    }
    return pipes[1].revents != 0 || pipes[2].revents != 0;
  };
  const auto stopped = [&] { return run.stop && run.stop(); };
  while (!stopped()) {
    const bool passed = pass_on(kPollMs);
    if (!file.refusal().empty()) {
      child->kill_all();
      return std::optional(ChildEnd{.how = "was ended", .output = {}, .errors = file.refusal()});
    }
    if (passed) continue;
    std::optional<std::string> end = child->try_reap();
    if (!end) continue;
    while (!stopped() && file.refusal().empty() && pass_on(0)) {
    }
    if (!file.refusal().empty()) end = "was ended";
    output.finish();
    errors.finish();
    return std::optional(
        ChildEnd{.how = *std::move(end),
                 .output = std::move(output.text()),
                 .errors = file.refusal().empty() ? std::move(errors.text()) : file.refusal()});
  }
  child->kill_all();
  return std::optional<ChildEnd>();
}

}  // namespace app
