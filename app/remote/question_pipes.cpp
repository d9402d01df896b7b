#include "app/remote/question_pipes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace app {
namespace {

constexpr std::size_t kMaxQuestion = 4096;

/// Open for both directions, so that neither side waits for the other to open it.
engine::Result<engine::UniqueFd> make_pipe_at(const std::string& path) {
  engine::UniqueFd made;
  if (::mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0) {
    made.reset(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  }
  if (made.valid()) return made;
  return engine::Error{engine::ErrorCode::Io,
                       fmt::format("cannot make the pipe {}: {}", path, std::strerror(errno))};
}

}  // namespace

engine::Result<QuestionPipes> QuestionPipes::make(const std::string& folder) {
  QuestionPipes pipes;
  ENGINE_ASSIGN(pipes.questions_, make_pipe_at(folder + '/' + kQuestionPipe));
  ENGINE_ASSIGN(pipes.answers_, make_pipe_at(folder + '/' + kAnswerPipe));
  return pipes;
}

std::optional<ConnectQuestion> QuestionPipes::next() {
  std::array<char, kMaxQuestion> bytes;
  const ssize_t count = ::read(questions_.get(), bytes.data(), bytes.size());
  if (count > 0) text_.append(bytes.data(), static_cast<std::size_t>(count));
  const std::size_t end = text_.find('\0');
  if (end == std::string::npos) {
    // Of a question that is longer, the rest is left out.
    if (text_.size() > kMaxQuestion) text_.resize(kMaxQuestion);
    return std::nullopt;
  }
  const std::string message = text_.substr(0, std::min(end, kMaxQuestion));
  text_.erase(0, end + 1);  // the end of a notice may have come with it
  if (message.empty()) return std::nullopt;
  ConnectQuestion question{.kind = ConnectQuestion::Kind::Secret, .text = message.substr(1)};
  if (message.front() == kShows) {
    question.kind = ConnectQuestion::Kind::Notice;
    return question;
  }
  // ssh says no difference between the two: the choice of answers is in the text.
  if (question.text.find("(yes/no") != std::string::npos)
    question.kind = ConnectQuestion::Kind::Confirm;
  return question;
}

void QuestionPipes::answer(std::optional<std::string> text) {
  std::string sent;
  sent.reserve(text ? text->size() + 2 : 2);  // so that no copy is left behind
  sent += text ? kAnswered : kNoAnswer;
  if (text) sent += *text;
  sent += '\0';
  // Shorter than PIPE_BUF, so it is written at once or not at all.
  static_cast<void>(::write(answers_.get(), sent.data(), sent.size()));
  ::explicit_bzero(sent.data(), sent.size());
  if (text) ::explicit_bzero(text->data(), text->size());
}

}  // namespace app
