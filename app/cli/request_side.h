// One side of `expertscope ab` as it is typed: what it has otherwise than the other side, "--b
// recipe=bf16", or the file of a whole request, "--b b.json".
#pragma once

#include <string>
#include <vector>

#include "app/cli/request_options.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app::cli {

class RequestSide {
 public:
  /// `option`: "--a". `words`: its values. The error names the value, what it may be and which
  /// option was probably meant.
  static engine::Result<RequestSide> read(std::string option,
                                          const std::vector<std::string>& words);

  const std::string& option() const { return option_; }
  /// The whole request; empty = none.
  const std::string& file() const { return file_; }
  /// "--b recipe=bf16, --b seed=2"; empty if there is none.
  std::string settings_text() const;
  /// This side: its file, then the options that both sides share, then its own settings.
  engine::Result<engine::RunRequest> resolve(const RequestOptions& shared,
                                             const RequestOptions::IsHere& is_here) const;
  /// Where its cuBLASLt library was named, as RequestOptions::library_file().
  std::string library_file(const RequestOptions& shared) const;

 private:
  engine::Status add(const std::string& word);

  std::string option_;
  std::string file_;
  std::vector<TypedSetting> settings_;
};

}  // namespace app::cli
