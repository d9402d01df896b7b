// Messages about a request name its fields by their paths, "shape.n", as files do. Whoever shows
// them puts the names in their place that the reader has on screen or has typed.
#pragma once

#include <string>
#include <string_view>

namespace app {

/// Replaces the name wherever it is a whole word. A full stop that ends a sentence is not part of
/// it.
void replace_words(std::string& text, std::string_view name, std::string_view with);

/// With the rail's labels: "Routing: file is empty, ..." for "routing.path is empty, ...".
std::string in_rail_words(std::string message);

}  // namespace app
