#include <unordered_map>
#include <utility>

#include "oneapi/dnnl/dnnl.hpp"
#include "plinth/ops/linear/onednn_product.h"

namespace plinth::ops {

struct OneDnnProduct::Impl {
  dnnl::engine engine;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  dnnl::memory weight;
  int64_t rows = 0;
  const char* name = "";
  bool shares = false;
};

OneDnnProduct::OneDnnProduct(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OneDnnProduct::OneDnnProduct(OneDnnProduct&&) noexcept = default;
OneDnnProduct& OneDnnProduct::operator=(OneDnnProduct&&) noexcept = default;
OneDnnProduct::~OneDnnProduct() = default;

int64_t OneDnnProduct::rows() const { return impl_->rows; }
int64_t OneDnnProduct::scratch_bytes() const {
  return static_cast<int64_t>(impl_->description.scratchpad_desc().get_size());
}
int64_t OneDnnProduct::owned_bytes() const {
  return impl_->shares ? 0 : static_cast<int64_t>(impl_->description.weights_desc().get_size());
}
const char* OneDnnProduct::implementation() const { return impl_->name; }

StatusOr<OneDnnProduct> OneDnnProduct::Make(int64_t m, int64_t n, int64_t k, const float* weight,
                                            int64_t x_stride, int64_t y_stride,
                                            absl::Span<const OneDnnProduct> others) {
  using Desc = dnnl::memory::desc;
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  try {
    auto impl = std::make_unique<Impl>();
    impl->engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
    const Desc x({m, k}, kF32, dnnl::memory::dims{x_stride, 1});
    const Desc w({k, n}, kF32, dnnl::memory::format_tag::any);
    const Desc y({m, n}, kF32, dnnl::memory::dims{y_stride, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    impl->description = {dnnl::matmul::desc(x, w, y), attributes, impl->engine};
    impl->name = impl->description.impl_info_str();
    impl->primitive = dnnl::matmul(impl->description);
    impl->rows = m;
    for (const OneDnnProduct& other : others) {
      if (other.impl_->description.weights_desc() != impl->description.weights_desc()) continue;
      impl->weight = other.impl_->weight;
      impl->shares = true;
      return OneDnnProduct(std::move(impl));
    }
    // Packs: [n, k] row-major is [k, n] with the strides swapped.
    dnnl::memory plain(Desc({k, n}, kF32, dnnl::memory::dims{1, k}), impl->engine,
                       const_cast<float*>(weight));
    impl->weight = dnnl::memory(impl->description.weights_desc(), impl->engine);
    dnnl::stream stream(impl->engine);
    dnnl::reorder(plain, impl->weight).execute(stream, plain, impl->weight);
    stream.wait();
    return OneDnnProduct(std::move(impl));
  } catch (const dnnl::error& e) {
    return absl::UnimplementedError(
        StrCat("oneDNN takes no product of ", m, " x ", k, " x ", n, ": ", e.what()));
  }
}

Status OneDnnProduct::Run(const float* x, float* y, std::byte* scratch) const {
  try {
    dnnl::stream stream(impl_->engine);
    const dnnl::memory source(impl_->description.src_desc(), impl_->engine, const_cast<float*>(x));
    const dnnl::memory target(impl_->description.dst_desc(), impl_->engine, y);
    const dnnl::memory pad(impl_->description.scratchpad_desc(), impl_->engine, scratch);
    impl_->primitive.execute(stream, {{DNNL_ARG_SRC, source},
                                      {DNNL_ARG_WEIGHTS, impl_->weight},
                                      {DNNL_ARG_DST, target},
                                      {DNNL_ARG_SCRATCHPAD, pad}});
    stream.wait();
    return absl::OkStatus();
  } catch (const dnnl::error& e) {
    return absl::InternalError(StrCat("oneDNN failed: ", e.what()));
  }
}

}  // namespace plinth::ops
