#include "app/page/product_accuracy.h"

#include <cmath>
#include <limits>

#include "engine/model/snr_words.h"

namespace app {

using engine::Product;

std::vector<Product> products_of(const engine::RunResult& result) {
  std::vector<Product> products;
  if (result.effective.linear.passes != engine::StepPasses::Backward) {
    products.push_back(Product::Fprop);
  }
  if (result.backward) products.insert(products.end(), {Product::Dgrad, Product::Wgrad});
  return products;
}

std::string worst_snr(const engine::RunResult& result) {
  const std::vector<Product> products = products_of(result);
  if (products.empty()) return "–";
  const Product first = products.front();
  double worst = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t left_out = 0;
  for (const engine::ExpertResult& expert : result.experts) {
    const engine::ProductAccuracy& accuracy = expert.of(first);
    if (expert.rows > 0) worst = std::fmin(worst, accuracy.snr_db);
    left_out += accuracy.left_out();
  }
  return (first == Product::Fprop ? std::string() : std::string(engine::output_name(first)) + " ") +
         engine::snr_text(worst, left_out);
}

std::uint64_t lost_outputs(const engine::RunResult& result) {
  std::uint64_t lost = 0;
  for (const engine::ExpertResult& expert : result.experts) {
    for (const Product product : products_of(result)) lost += expert.of(product).lost;
  }
  return lost;
}

}  // namespace app
