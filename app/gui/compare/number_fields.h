// The numbers that a sweep varies, as text fields: a list of values, or nothing where the rail's
// own value stays.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/gui/controls/flow.h"
#include "app/gui/controls/panel_context.h"
#include "app/sweep/number_axis.h"

namespace app {

class NumberFields {
 public:
  void draw(const PanelContext& context, controls::Flow& flow);
  /// Of the fields that have an effect on this request.
  std::vector<NumberAxis> axes(const engine::RunRequest& request) const;
  /// What is wrong with the first field that cannot be read; empty = all can.
  std::string error(const engine::RunRequest& request) const;

 private:
  struct Field {
    const char* id;
    const char* path;  // in the request
    float width;
    std::string text = {};
    std::vector<std::string> values = {};  // as read from the text
    std::string error = {};                // why they could not be
  };
  static void read(Field& field);

  std::array<Field, 6> fields_ = {{{"frontier.rows", "shape.rows", 110},
                                   {"frontier.experts", "shape.num_experts", 72},
                                   {"frontier.n", "shape.n", 88},
                                   {"frontier.k", "shape.k", 88},
                                   {"frontier.seed", "seed", 72},
                                   {"frontier.top_k", "expert_layer.top_k", 72}}};
};

}  // namespace app
