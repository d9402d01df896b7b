// The help of every command: what an option means, in lines that a terminal has room for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace app::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNameColumns); }
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  static constexpr std::size_t kNameColumns = 30;
  static constexpr std::size_t kMeaningColumns = 70;  // 100 with the names
};

}  // namespace app::cli
