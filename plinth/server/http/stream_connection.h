// Moves the bytes of a connection through a socket, plain or with TLS; the only part that knows which.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "plinth/server/http/connection.h"

namespace plinth::server::http {

// `Stream` is tcp::socket or ssl::stream<tcp::socket>.
template <typename Stream>
class StreamConnection final : public Connection {
 public:
  template <typename... Args>
  StreamConnection(std::shared_ptr<Shared> shared, std::string peer, Args&&... args)
      : Connection(std::move(shared), std::move(peer)), stream_(std::forward<Args>(args)...) {}

  void Start() override {
    if constexpr (kTls) {
      stream_.async_handshake(boost::asio::ssl::stream_base::server,
                              [self = Self()](const boost::system::error_code& error) {
                                if (error) {
                                  self->Close();
                                } else {
                                  self->Started(self->Subject(), true);
                                }
                              });
    } else {
      Started("", false);
    }
  }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, boost::asio::ip::tcp::socket>;

  std::shared_ptr<StreamConnection> Self() {
    return std::static_pointer_cast<StreamConnection>(shared_from_this());
  }

  void StartRead(boost::asio::mutable_buffer into) override {
    stream_.async_read_some(into, [self = Self()](const boost::system::error_code& error, size_t bytes) {
      self->HasRead(!error, bytes);
    });
  }

  void StartWrite(const std::array<boost::asio::const_buffer, 2>& bytes) override {
    boost::asio::async_write(stream_, bytes, [self = Self()](const boost::system::error_code& error, size_t) {
      self->HasWritten(!error);
    });
  }

  void EndSending() override {
    if constexpr (kTls) {
      stream_.async_shutdown([self = Self()](const boost::system::error_code&) { self->Close(); });
    } else {
      boost::system::error_code ignored;
      stream_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
    }
  }

  void CloseSocket() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.lowest_layer().close(ignored);
  }

  // "CN=gateway,O=plant" of the client's certificate; empty where it showed none.
  std::string Subject() {
    std::string subject;
    if constexpr (kTls) {
      X509* certificate = SSL_get1_peer_certificate(stream_.native_handle());
      if (certificate == nullptr) return subject;
      BIO* memory = BIO_new(BIO_s_mem());
      X509_NAME_print_ex(memory, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
      char* text = nullptr;
      const long size = BIO_get_mem_data(memory, &text);
      if (size > 0) subject.assign(text, static_cast<size_t>(size));
      BIO_free(memory);
      X509_free(certificate);
    }
    return subject;
  }

  Stream stream_;
};

}  // namespace plinth::server::http
