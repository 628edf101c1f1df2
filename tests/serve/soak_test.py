"""Mixed load for minutes: no error, and memory that does not grow."""
import math
import os
import random
import sys
import threading
import time

from server import Server


def slope_upper_bound(points):
    """Upper 95 % bound of the slope of a straight line through (seconds, kilobytes), in kilobytes per minute."""
    n = len(points)
    mean_t = sum(t for t, _ in points) / n
    mean_k = sum(k for _, k in points) / n
    sxx = sum((t - mean_t) ** 2 for t, _ in points)
    slope = sum((t - mean_t) * (k - mean_k) for t, k in points) / sxx
    rest = sum((k - mean_k - slope * (t - mean_t)) ** 2 for t, k in points)
    return 60 * (slope + 1.96 * math.sqrt(rest / (n - 2) / sxx))


def main():
    minutes = float(os.environ.get("PLINTH_SOAK_MINUTES", "3"))
    bound = 1000 if minutes < 30 else 20  # kilobytes per minute
    warm = min(60, minutes * 60 / 4)
    errors, counts = [], [0]
    with Server() as server:
        stop = threading.Event()

        def client(seed):
            draw = random.Random(seed)
            connection = server.connect()
            while not stop.is_set():
                kind = draw.randrange(10)
                try:
                    if kind == 0:
                        got, wanted = server.ask("GET", "/metrics", connection=connection), 200
                    elif kind == 1:
                        got, wanted = server.ask("GET", "/v1/models", connection=connection), 200
                    elif kind == 2:
                        got, wanted = server.ask("POST", "/v1/forecast", {"series": {"y": "x"}}, connection=connection), 400
                    elif kind == 3:
                        connection.close()
                        connection = server.connect()
                        continue
                    else:
                        count = draw.randint(1, 8)
                        sizes = [draw.randint(1, 600) for _ in range(count)]
                        body = {"series": {"y": [draw.random() for _ in range(sum(sizes))], "sizes": sizes},
                                "horizon": draw.randint(1, 96)}
                        got, wanted = server.ask("POST", "/v1/forecast", body, connection=connection), 200
                    if got[0] != wanted:
                        errors.append((kind, got[0], got[2]))
                except Exception as error:  # any failure of a client is an error of this test
                    errors.append((kind, repr(error)))
                    connection = server.connect()
                counts[0] += 1
                time.sleep(0.005)

        threads = [threading.Thread(target=client, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        began, points = time.monotonic(), []
        while time.monotonic() - began < minutes * 60:
            time.sleep(1)
            if time.monotonic() - began > warm:
                points.append((time.monotonic() - began, server.resident_kilobytes()))
        stop.set()
        for thread in threads:
            thread.join()
        code = server.stop()
    grows = slope_upper_bound(points)
    print(f"{counts[0]} requests in {minutes} minutes, {len(errors)} errors, exit code {code}; "
          f"memory {points[0][1]} to {points[-1][1]} kB, slope below {grows:.1f} kB per minute (bound {bound})")
    if errors:
        print(errors[:5])
    return 0 if not errors and code == 0 and grows < bound else 1


if __name__ == "__main__":
    sys.exit(main())
